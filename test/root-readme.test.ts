/** Runs what README.md says to run, and compares the pages for people with the code. */

import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { contract } from '@plant-store/contract'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { codeBlocks, shell } from './helpers/production/guide.ts'
import { root } from './helpers/programs.ts'
import { startTestServer, type TestServer } from './helpers/server/start-test-server.ts'

const readme = readFileSync(`${root}README.md`, 'utf8')

const blocks = (language: string) => codeBlocks(readme, language)

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

test('the curl calls with a new token respond as shown, and so does an error', async () => {
  const [create = ''] = blocks('sh').filter((code) => code.includes('curl'))
  const [, list = ''] = /`(curl [^`]+)`/.exec(readme) ?? []
  const [plant = ''] = blocks('json')
  const script = `${create}\n${list}`.replaceAll('http://127.0.0.1:3000', server.url)
  expect(script).toContain('token create')
  const { PATH, HOME } = process.env
  const env = { PATH, HOME, DATABASE_URL: server.databaseUrl }
  expect(await shell(script, { env })).toBe(`${plant.trim()}[${plant.trim()}]`)
  expect(readme).toContain(`\`${await (await server.post('{"id":1}')).text()}\``)
})

test('the operations are those of the contract', () => {
  const [, list = ''] = /^Its operations are ([^.]*)/m.exec(readme) ?? []
  const operations = Object.values(contract).map(({ method, path }) => `${method} ${path}`)
  expect(list.match(/[A-Z]+ [^`]+/g), 'run npm run generate').toEqual(operations)
})

const pages = execFileSync('git', ['ls-files', '*.md'], { cwd: root, encoding: 'utf8' }).trim().split('\n')
const read = (page: string) => readFileSync(root + page, 'utf8')

test('every link of a page leads to a file and its heading', () => {
  for (const page of pages) {
    const text = read(page).replace(/^```.*?^```/gms, '')
    for (const [, link = '', anchor] of text.matchAll(/\]\((?!https?:)([^)#]*)#?([^)]*)\)/g)) {
      const target = link === '' ? page : path.join(path.dirname(page), link)
      expect(existsSync(root + target), `${page} points to ${link}`).toBe(true)
      if (anchor) expect(anchorsOf(read(target)), `${page} points to ${link}#${anchor}`).toContain(anchor)
    }
  }
})

/** Returns the anchors of a page's headings, as GitHub names them. */
function anchorsOf(text: string): string[] {
  const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading.toLowerCase())
  return headings.map((heading) => heading.replace(/[^\w -]/g, '').replaceAll(' ', '-'))
}

const packages = ['contract', 'prisma', 'server', 'client']

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

/** Lists the files below a folder, relative to the root, without generated ones. */
function filesIn(folder: string): string[] {
  return readdirSync(path.join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)))
    .filter((file) => !file.includes('/generated/'))
}
