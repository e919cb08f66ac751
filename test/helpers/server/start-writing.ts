import { setTimeout as sleep } from 'node:timers/promises'

/** How long a writer waits after a refusal, in milliseconds. */
const PAUSE = 10

/** What became of a plant that was sent. */
export interface Answer {
  id: number
  /** Nothing where the connection broke before an answer. */
  status: number | undefined
  retryAfter: string | null
  body: string
}

/** Writers that send one plant after the other. */
export interface Writing {
  /** Every answer so far, in the order of their arrival. */
  readonly answers: Answer[]
  /** Lets the requests under way end. */
  stop(): Promise<void>
}

/** Whom to write to, and what. */
export interface WritingOptions {
  url: string
  token: string
  writers: number
  /** The id of the first plant; the others count up from it. */
  firstId?: number
}

/** Lets many writers create plants at once, each the next as soon as it has an answer, until its connection breaks. */
export function startWriting({ url, token, writers, firstId = 0 }: WritingOptions): Writing {
  const answers: Answer[] = []
  let stopped = false
  let nextId = firstId

  async function write(): Promise<void> {
    while (!stopped) {
      const answer = await createPlant(url, token, nextId++)
      answers.push(answer)
      if (answer.status === undefined) return
      if (answer.status !== 200) await sleep(PAUSE)
    }
  }

  const ended = Promise.all(Array.from({ length: writers }, write))
  return {
    answers,
    async stop() {
      stopped = true
      await ended
    },
  }
}

/** Sends the plant of an id. */
export async function createPlant(url: string, token: string, id: number): Promise<Answer> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ id, ...plantOf(id) })
  const answer: Answer = { id, status: undefined, retryAfter: null, body: '' }
  try {
    const response = await fetch(`${url}/plants`, { method: 'POST', headers, body })
    answer.status = response.status
    answer.retryAfter = response.headers.get('retry-after')
    answer.body = await response.text()
  } catch {
    // The connection broke. Where the status had come, it counts: the server has given its word.
  }
  return answer
}

/** The plant of an id: of different lengths, and such that a part of it or of another one shows. */
export function plantOf(id: number): { name: string; tag?: string } {
  const name = `plant ${id} ${String(id).repeat((id * 7) % 150)}.`
  return id % 2 === 0 ? { name } : { name, tag: `tag ${id} ${'🪴'.repeat(id % 40)}.` }
}
