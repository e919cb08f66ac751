/** The response to a request for plants. */
export type PlantsResponse = Awaited<ReturnType<typeof callPlants>>

/** Creates the plant of an id, or another one with that id. */
export function createPlant(url: string, token: string, id: number, plant = id): Promise<PlantsResponse> {
  return callPlants({ url, token }, { body: JSON.stringify({ id, ...plantOf(plant) }) })
}

/** Lists plants, or creates one from the text of a body. */
export async function callPlants(
  { url, token }: { url: string; token: string },
  { query = '', body }: { query?: string; body?: string } = {},
) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const post = body === undefined ? {} : { method: 'POST', body }
  const response = await fetch(`${url}/plants${query}`, { headers, ...post }).catch(() => undefined)
  const text = (await response?.text().catch(() => '')) ?? ''
  const header = (name: string) => response?.headers.get(name) ?? null
  return {
    /** Undefined if the connection broke before a response. One that had arrived counts: the server has acknowledged a plant. */
    status: response?.status,
    retryAfter: header('retry-after'),
    link: header('link'),
    /** Empty if the connection broke in the middle of it. */
    body: text,
  }
}

/** Returns the plant of an id. The lengths differ, and a part of one plant cannot pass as another. */
export function plantOf(id: number): { name: string; tag?: string } {
  const name = `plant ${id} ${String(id).repeat((id * 7) % 150)}.`
  return id % 2 === 0 ? { name } : { name, tag: `tag ${id} ${'🪴'.repeat(id % 40)}.` }
}
