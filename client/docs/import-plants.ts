/** Imports plants from a file of JSON lines: `node import-plants.ts [file] [calls at a time]`. */
import { createReadStream } from 'node:fs'
import { ApiError, createPlantStoreClient, PlantStoreError, parseId, UsageError } from '@plant-store/client'
import { httpFetch } from './http-fetch.ts'

const [file = 'plants.jsonl', atOnce = '64'] = process.argv.slice(2)
const client = createPlantStoreClient({ retries: 5, fetch: httpFetch })
const utf8 = new TextDecoder('utf-8', { fatal: true })
const count = { accepted: 0, wrong: 0 }

/** Reads lines as bytes, each a character. Unlike those of `readline`, they end at a line feed only. */
async function* readLines(): AsyncGenerator<[line: string, number: number]> {
  let [rest, number] = ['', 0]
  for await (const chunk of createReadStream(file, 'latin1')) {
    const lines: string[] = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) yield [line, ++number]
  }
  yield [rest, ++number]
}

/** Counts the plants of the account, to tell those that were stored from those that it had. */
async function countPlants(): Promise<number> {
  let plants = 0
  for await (const _ of client.iterate.getPlants({ limit: 1000 })) plants++
  return plants
}

/** Stores the plant of a line. Throws what is wrong with it, or with the service. */
async function store(line: string): Promise<void> {
  // Without a byte order mark, and what else is around it.
  const json = utf8.decode(Buffer.from(line, 'latin1')).trim()
  if (!json) return
  const { id: text, ...fields } = Object(JSON.parse(json, exactId))
  const id = parseId(text)
  if (typeof id !== 'bigint') throw new Error(`id: ${id === 'out-of-range' ? 'is out of range' : 'must be an integer'}`)
  await client.createPlant({ ...fields, id })
  if (++count.accepted % 1000 === 0) console.log(count)
}

/** Reads a number as its digits, since above 2^53 it would become another id. */
function exactId(key: string, value: unknown, context?: { source: string }): unknown {
  return key === 'id' && typeof value === 'number' ? context?.source : value
}

async function work(): Promise<void> {
  for await (const [line, number] of lines) {
    await store(line).catch((error) => {
      const isRejected = error instanceof ApiError && [400, 413].includes(error.status)
      const isOfService = error instanceof PlantStoreError && !isRejected && !(error instanceof UsageError)
      if (isOfService) throw new Error(`line ${number}: ${error.message}`)
      console.error(`line ${number}: ${error.detail ?? error.message}`)
      count.wrong++
    })
  }
}

const before = await countPlants()
const lines = readLines()
await Promise.all(Array.from({ length: Number(atOnce) }, work))
const stored = (await countPlants()) - before
console.log({ stored, known: count.accepted - stored, wrong: count.wrong })
if (count.wrong > 0) process.exitCode = 1
