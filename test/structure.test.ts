import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
const packages = ['contract', 'prisma', 'server', 'client']

const read = (file: string) => readFileSync(path.join(root, file), 'utf8')

describe('docs/architecture.md', () => {
  const text = read('docs/architecture.md')
  const names = [...new Set(text.match(/[\w.-]+(?:\/[\w.-]+)*\.(?:ts|prisma|example)\b/g))]
  const sources = packages.flatMap((name) => filesIn(`${name}/src`))

  test('names files that exist, in at most 120 lines', () => {
    expect(names.length).toBeGreaterThan(30)
    expect(text.split('\n').length).toBeLessThanOrEqual(120)
    // Inside server/src and prisma/src a name may leave out the folders above.
    const exists = (name: string) =>
      existsSync(path.join(root, name)) || sources.filter((file) => file.endsWith(`/${name}`)).length === 1
    expect(names.filter((name) => !exists(name))).toEqual([])
  })
})

describe.each([...packages.map((name) => `${name}/src`), 'prisma/prisma-cli', 'client/generator'])('%s', (folder) => {
  const files = filesIn(folder)
  const imports = new Map(files.filter((file) => file.endsWith('.ts')).map((file) => [file, importsOf(file)]))

  test('has no circle of files', () => {
    expect(findCircle(imports)).toEqual([])
  })
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

function importsOf(file: string): string[] {
  const specifiers = [...read(file).matchAll(/(?:from |import |import\()'(\.[^']+\.ts)'/g)].map(
    ([, specifier]) => specifier ?? '',
  )
  return specifiers.map((specifier) => path.join(path.dirname(file), specifier))
}

/** Returns the nodes of circles, and those that lead to one: the others are removed, last ones first. */
function findCircle(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const left = new Map(graph)
  for (let before = 0; before !== left.size; ) {
    before = left.size
    for (const [node, targets] of left) if (!targets.some((target) => left.has(target))) left.delete(node)
  }
  return [...left.keys()]
}
