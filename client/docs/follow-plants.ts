/** Appends each new plant to a file, exactly once: `node follow-plants.ts [file] [longest pause in milliseconds]`. */
import { appendFile, readFile, rename, stat, truncate, writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { createPlantStoreClient, PlantStoreError } from '@plant-store/client'

const [file = 'followed.jsonl', pause = '10000'] = process.argv.slice(2)
const client = createPlantStoreClient()

/** How much of the file is complete, and the cursor of what follows. */
let place: { readonly size: number; readonly cursor?: string | undefined } = { size: 0 }
let etag: string | null = null

/** Replaces the place on the disk, where a kill leaves the old one or the new one. */
async function savePlace(): Promise<void> {
  await writeFile(`${file}.place.new`, JSON.stringify(place), { flush: true })
  await rename(`${file}.place.new`, `${file}.place`)
}

/** Appends the plants of the next page. Returns whether another one follows. */
async function readPage(): Promise<boolean> {
  const headers = { 'If-None-Match': etag }
  const page = await client.raw.getPlants({ limit: 1000, cursor: place.cursor }, { headers })
  etag = page.headers.get('etag')
  if (page.notModified || page.data.length === 0) return false
  const lines = page.data.map((plant) => `${JSON.stringify(plant)}\n`).join('')
  await appendFile(file, lines, { flush: true })
  place = { size: place.size + Buffer.byteLength(lines), cursor: page.endCursor }
  await savePlace()
  return page.nextCursor !== undefined
}

try {
  place = JSON.parse(await readFile(`${file}.place`, 'utf8'))
} catch (error) {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  await appendFile(file, '')
  place = { size: (await stat(file)).size }
  await savePlace()
}
// What a kill has left after the place comes again.
await truncate(file, place.size)
for (;;) {
  try {
    while (await readPage());
  } catch (error) {
    if (!(error instanceof PlantStoreError && error.retryable)) throw error
    console.error(error.message)
  }
  await sleep(Math.random() * Number(pause))
}
