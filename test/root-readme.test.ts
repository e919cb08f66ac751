/** Runs what README.md says to run, and compares the pages for people with the code. */
import { execFile, execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { contract } from '@plant-store/contract'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isLong } from './helpers/long-tests.ts'
import { codeBlocks } from './helpers/production/guide.ts'
import { startTestServer, type TestServer } from './helpers/server/start-test-server.ts'
import { temporaryFolder } from './helpers/temporary-folder.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../', import.meta.url))
const readme = readFileSync(`${root}README.md`, 'utf8')

const blocks = (language: string) => codeBlocks(readme, language)

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

function environment(extra: Record<string, string> = {}): NodeJS.ProcessEnv {
  const { PATH, HOME } = process.env
  return { PATH, HOME, DATABASE_URL: server.databaseUrl, ...extra }
}

test('the curl calls with a new token respond as shown, and so does an error', async () => {
  const [create = ''] = blocks('sh').filter((code) => code.includes('curl'))
  const [, list = ''] = /`(curl [^`]+)`/.exec(readme) ?? []
  const [plant = ''] = blocks('json')
  const script = `${create}\n${list}`.replaceAll('http://127.0.0.1:3000', server.url)
  expect(script).toContain('token create')
  const { stdout } = await run('sh', ['-e', '-c', script], { cwd: root, env: environment() })
  expect(stdout).toBe(`${plant.trim()}[${plant.trim()}]`)
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
    const file = path.join(root, 'plant-store-client.tgz')
    const before = existsSync(file) ? readFileSync(file) : undefined
    try {
      // As in a folder next to the app.
      const offline = environment({ npm_config_offline: 'true' })
      await run('sh', ['-e', '-c', commands.replace('cd ..', 'cd "$1"'), 'sh', parent], { cwd: root, env: offline })
    } finally {
      if (before) writeFileSync(file, before)
      else rmSync(file, { force: true })
    }
    const [snippet = ''] = blocks('ts')
    const { token } = await server.createToken({ account: 'elsewhere' })
    writeFileSync(path.join(app, 'plants.mjs'), snippet.replaceAll('http://127.0.0.1:3000', server.url))
    const [, command = ''] = /Save this as `plants.mjs` .*run `(.+)` there/.exec(readme) ?? []
    const { stdout } = await run('sh', ['-e', '-c', command], { cwd: app, env: environment({ TOKEN: token }) })
    expect(stdout).toMatch(/^Monstera deliciosa aroid\n400 40003 /)
  },
)

test('the operations are those of the contract', () => {
  const [, list = ''] = /^Its operations are ([^.]*)/m.exec(readme) ?? []
  const operations = Object.values(contract).map(({ method, path }) => `${method} ${path}`)
  expect(list.match(/[A-Z]+ [^`]+/g)).toEqual(operations)
})

test('every link of a page to a file leads to one', () => {
  const pages = execFileSync('git', ['ls-files', '*.md'], { cwd: root, encoding: 'utf8' }).trim().split('\n')
  expect(pages.length).toBeGreaterThan(10)
  for (const page of pages) {
    const text = readFileSync(root + page, 'utf8').replace(/^```.*?^```/gms, '')
    for (const [, link = ''] of text.matchAll(/\]\((?!https?:)([^)#]+)[^)]*\)/g)) {
      expect(existsSync(path.join(root, path.dirname(page), link)), `${page} points to ${link}`).toBe(true)
    }
  }
})
