import { setTimeout as sleep } from 'node:timers/promises'

/** The time a writer waits after a rejected request, in milliseconds. */
const PAUSE = 10

/** The response to a plant. */
export interface PlantResponse {
  id: number
  /** Undefined if the connection broke before a response. */
  status: number | undefined
  retryAfter: string | null
  body: string
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
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ id, ...plantOf(plant) })
  const response: PlantResponse = { id, status: undefined, retryAfter: null, body: '' }
  try {
    const received = await fetch(`${url}/plants`, { method: 'POST', headers, body })
    response.status = received.status
    response.retryAfter = received.headers.get('retry-after')
    response.body = await received.text()
  } catch {
    // The connection broke. A status that had arrived counts: the server has acknowledged the plant.
  }
  return response
}

/** Returns the plant of an id. The lengths differ, and a part of one plant cannot pass as another. */
export function plantOf(id: number): { name: string; tag?: string } {
  const name = `plant ${id} ${String(id).repeat((id * 7) % 150)}.`
  return id % 2 === 0 ? { name } : { name, tag: `tag ${id} ${'🪴'.repeat(id % 40)}.` }
}
