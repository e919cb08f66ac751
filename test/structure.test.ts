import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
const packages = ['contract', 'prisma', 'server', 'client']

const read = (file: string) => readFileSync(path.join(root, file), 'utf8')

test('docs/architecture.md names files that exist, in at most 120 lines', () => {
  const text = read('docs/architecture.md')
  const names = [...new Set(text.match(/[\w.-]+(?:\/[\w.-]+)*\.(?:ts|prisma|example)\b/g))]
  const sources = packages.flatMap((name) => filesIn(`${name}/src`))
  expect(names.length).toBeGreaterThan(30)
  expect(text.split('\n').length).toBeLessThanOrEqual(120)
  // Inside server/src and prisma/src a name may leave out the folders above.
  const exists = (name: string) =>
    existsSync(path.join(root, name)) || sources.filter((file) => file.endsWith(`/${name}`)).length === 1
  expect(names.filter((name) => !exists(name))).toEqual([])
})

// Modules are loaded once for many test files, so such a hook would run for the first of these only.
test('no helper of tests registers a hook as it is loaded', () => {
  const helpers = ['', ...packages.map((name) => `${name}/`)]
    .map((folder) => `${folder}test/helpers`)
    .flatMap((folder) => (existsSync(path.join(root, folder)) ? filesIn(folder) : []))
  expect(helpers.length).toBeGreaterThan(30)
  expect(helpers.filter((file) => /^(before|after)(All|Each)\(/m.test(read(file)))).toEqual([])
})

/** Lists the files below a folder, relative to the root, without generated ones. */
function filesIn(folder: string): string[] {
  return readdirSync(path.join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)))
    .filter((file) => !file.includes('/generated/'))
}
