/** Runs what README.md says to run, and compares the pages for people with the code. */

import { execFileSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { isLong } from './helpers/long-tests.ts'
import { codeBlocks, shell } from './helpers/production/guide.ts'
import { freePort, root } from './helpers/programs.ts'
import { startTestServer } from './helpers/server/start-test-server.ts'
import { temporaryFolder } from './helpers/temporary.ts'

const readme = readFileSync(`${root}README.md`, 'utf8')

const blocks = (language: string) => codeBlocks(readme, language)

const server = await startTestServer()

function environment(extra: Record<string, string> = {}): NodeJS.ProcessEnv {
  const { PATH, HOME } = process.env
  return { PATH, HOME, DATABASE_URL: server.databaseUrl, ...extra }
}

test('the command that waits ends once requests are served', async () => {
  const [wait = ''] = blocks('sh').filter((code) => code.includes('--retry'))
  const port = await freePort()
  const waited = shell(wait.replace('3000', String(port)))
  await using _server = await startTestServer({ port })
  expect(await waited).toBe('')
})

test('the curl calls with a new token respond as shown, and so does an error', async () => {
  const [create = ''] = blocks('sh').filter((code) => code.includes('token create'))
  const [, list = ''] = /`(curl [^`]+)`/.exec(readme) ?? []
  const [plant = ''] = blocks('json')
  const script = `${create}\n${list}`.replaceAll('http://127.0.0.1:3000', server.url)
  expect(script).toContain('token create')
  expect(await shell(script, { env: environment() })).toBe(`${plant.trim()}[${plant.trim()}]`)
  expect(readme).toContain(`\`${await (await server.post('{"id":1}')).text()}\``)
})

test.runIf(isLong)(
  'the commands that install the SDK in an app elsewhere work as written, without a network',
  async () => {
    const [commands = ''] = blocks('sh').filter((code) => code.includes('pack-client'))
    const parent = temporaryFolder()
    const app = path.join(parent, 'your-app')
    mkdirSync(app)
    writeFileSync(path.join(app, 'package.json'), '{ "private": true, "type": "commonjs" }')
    symlinkSync(root, path.join(parent, 'plant-store'))
    // As in a folder next to the app.
    await shell(commands.replace('cd ..', `cd ${parent}`), { env: environment({ npm_config_offline: 'true' }) })
    const [snippet = ''] = blocks('ts')
    const { token } = await server.createToken({ account: 'elsewhere' })
    writeFileSync(path.join(app, 'plants.mjs'), snippet.replaceAll('http://127.0.0.1:3000', server.url))
    const [, command = ''] = /Save this as `plants.mjs` .*run `(.+)` there/.exec(readme) ?? []
    expect(await shell(command, { cwd: app, env: environment({ TOKEN: token }) })).toMatch(
      /^Monstera deliciosa aroid\n400 40003 /,
    )
  },
)

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

test('docs/architecture.md names files that exist, in at most 120 lines', () => {
  const text = read('docs/architecture.md')
  const names = [...new Set(text.match(/[\w.-]+(?:\/[\w.-]+)*\.(?:ts|prisma|example)\b/g))]
  const sources = globSync('*/src/**/*.ts', { cwd: root, exclude: ['**/generated'] })
  expect(names.length).toBeGreaterThan(30)
  expect(text.split('\n').length).toBeLessThanOrEqual(120)
  // Inside server/src and prisma/src a name may leave out the folders above.
  const exists = (name: string) =>
    existsSync(path.join(root, name)) || sources.filter((file) => file.endsWith(`/${name}`)).length === 1
  expect(names.filter((name) => !exists(name))).toEqual([])
})
