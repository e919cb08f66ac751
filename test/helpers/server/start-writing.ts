import { setTimeout as sleep } from 'node:timers/promises'

/** The time a writer waits after a rejected request, in milliseconds. */
const PAUSE = 10

/** The response to a request for plants. */
export interface PlantsResponse {
  /** Undefined if the connection broke before a response. One that had arrived counts: the server has acknowledged a plant. */
  status: number | undefined
  retryAfter: string | null
  link: string | null
  /** Empty if the connection broke in the middle of it. */
  body: string
}

/** The response to a plant. */
export interface PlantResponse extends PlantsResponse {
  id: number
}

/** Starts concurrent writers, which create one plant after another until their connections break. */
export function startWriting({ url, token, writers }: { url: string; token: string; writers: number }) {
  const responses: PlantResponse[] = []
  let stopped = false
  let nextId = 0

  async function write(): Promise<void> {
    while (!stopped) {
      const response = await createPlant(url, token, nextId++)
      responses.push(response)
      if (response.status === undefined) return
      if (response.status !== 200) await sleep(PAUSE)
    }
  }

  const ended = Promise.all(Array.from({ length: writers }, write))
  return {
    /** The responses so far, in the order of their arrival. */
    responses,
    /** Waits for the requests in flight. */
    async stop() {
      stopped = true
      await ended
    },
  }
}

/** Creates the plant of an id, or another one with that id. */
export async function createPlant(url: string, token: string, id: number, plant = id): Promise<PlantResponse> {
  return { id, ...(await callPlants({ url, token }, { body: JSON.stringify({ id, ...plantOf(plant) }) })) }
}

/** Lists plants, or creates one from the text of a body. */
export async function callPlants(
  { url, token }: { url: string; token: string },
  { query = '', body }: { query?: string; body?: string } = {},
): Promise<PlantsResponse> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const post = body === undefined ? {} : { method: 'POST', body }
  const response = await fetch(`${url}/plants${query}`, { headers, ...post }).catch(() => undefined)
  const text = (await response?.text().catch(() => '')) ?? ''
  const header = (name: string) => response?.headers.get(name) ?? null
  return { status: response?.status, retryAfter: header('retry-after'), link: header('link'), body: text }
}

/** Returns the plant of an id. The lengths differ, and a part of one plant cannot pass as another. */
export function plantOf(id: number): { name: string; tag?: string } {
  const name = `plant ${id} ${String(id).repeat((id * 7) % 150)}.`
  return id % 2 === 0 ? { name } : { name, tag: `tag ${id} ${'🪴'.repeat(id % 40)}.` }
}
