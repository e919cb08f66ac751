import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { contract } from '@plant-store/contract'
import { generate } from './generate.ts'

const folder = fileURLToPath(new URL('../src/generated/', import.meta.url))
const files = generate(contract)

if (process.argv.includes('--check')) await check()
else await write()

async function write(): Promise<void> {
  await mkdir(folder, { recursive: true })
  for (const name of await findUnknownFiles()) await rm(folder + name)
  for (const [name, text] of Object.entries(files)) await writeFile(folder + name, text)
}

async function check(): Promise<void> {
  const stale = await findUnknownFiles()
  for (const [name, text] of Object.entries(files)) {
    const committed = await readFile(folder + name, 'utf8').catch(() => undefined)
    if (committed?.replaceAll('\r\n', '\n') !== text) stale.push(name)
  }
  if (stale.length === 0) return
  console.error(`client/src/generated is stale: ${stale.join(', ')}. Run \`npm run generate\` and commit the result.`)
  process.exitCode = 1
}

/** Finds files that the generator does not write, or no longer writes. */
async function findUnknownFiles(): Promise<string[]> {
  const present = await readdir(folder).catch(() => [])
  return present.filter((name) => !(name in files))
}
