import { readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'

const README = fileURLToPath(new URL('../../../contract/README.md', import.meta.url))
const CACHE = fileURLToPath(new URL('../../node_modules/.cache', import.meta.url))

/** A row of a table: the code of each cell. */
type Row = readonly (readonly string[])[]

/** Reads the table under a heading of `contract/README.md`. */
export function readTable(heading: string): Row[] {
  const [, section = ''] = readFileSync(README, 'utf8').split(`### ${heading}\n`)
  const lines = (section.split('\n## ')[0]?.split('\n### ')[0] ?? '')
    .split('\n')
    .filter((line) => line.startsWith('| '))
  return lines.slice(1).map((line) =>
    line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map(readCode),
  )
}

function readCode(cell: string): string[] {
  return [...cell.matchAll(/(`+) ?(.+?) ?\1/g)].map(([, , code = '']) => code.replaceAll('\\|', '|'))
}

const SCOPE = `
import { ErrorSchema, Int64Schema } from '@plant-store/contract'
import { initContract } from '@ts-rest/core'
import * as z from 'zod'

const c = initContract()
const getBed = { method: 'GET', path: '/beds', responses: { 200: z.string() }, metadata: { scope: 'read' } }
const Tree = z.object({ get children() { return z.array(Tree) } }).meta({ id: 'Tree' })
`

/** Evaluates the expression of each case. */
export async function evaluate<TCase extends { expression: string }>(
  cases: readonly TCase[],
): Promise<(TCase & { result: unknown })[]> {
  await mkdir(CACHE, { recursive: true })
  const file = path.join(temporaryFolder(CACHE), 'expressions.ts')
  const expressions = cases.map(({ expression }) => `  ${expression},\n`).join('')
  await writeFile(file, `${SCOPE}\nexport const results = [\n${expressions}]\n`)
  const { results } = await import(file)
  return cases.map((one, index) => ({ ...one, result: results[index] }))
}
