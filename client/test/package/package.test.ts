/** The package as an app installs it: from its tarball, outside the workspace. */
import { randomUUID } from 'node:crypto'
import { cp, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { afterAll, describe, expect, test } from 'vitest'
import { browserOptions, browserPath } from '../../../test/helpers/browser.ts'
import { installPackage, run } from '../../../test/helpers/packed-package.ts'
import { findRuntime } from '../../../test/helpers/runtimes.ts'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { bundle } from '../helpers/bundle.ts'
import { startTinyServer } from '../helpers/tiny-server.ts'

const workspace = fileURLToPath(new URL('../../..', import.meta.url))

const consumer = await installPackage(path.join(workspace, 'client'))
await cp(path.join(workspace, 'client/test/consumer'), consumer.folder, { recursive: true })

const readInstalled = (file: string) => readFile(path.join(consumer.installed, file), 'utf8')

test('the package has no dependencies, no side effects, its license, the recipes and its comments', async () => {
  const { dependencies, peerDependencies, sideEffects, engines } = JSON.parse(await readInstalled('package.json'))
  expect([dependencies, peerDependencies, sideEffects]).toEqual([undefined, undefined, false])
  expect(engines).toMatchObject({ node: expect.any(String) })
  expect(await readInstalled('LICENSE')).toMatch(/^MIT License\n\nCopyright .* Plant Store maintainers/)
  expect(await readInstalled('docs/recipes.md')).toContain('# Recipes')
  // An editor shows the comments.
  expect(await readInstalled('dist/esm/generated/operations.d.ts')).toContain('* Creates a new plant')
})

/** Compiles files of the consumer. Throws with the errors of the compiler. */
async function compile(compiler: string, files: readonly string[], options: object) {
  const compilerOptions = { typeRoots: [path.join(workspace, 'node_modules/@types')], ...options }
  const file = path.join(consumer.folder, `tsconfig.${randomUUID()}.json`)
  await writeFile(file, JSON.stringify({ extends: './tsconfig.json', files, compilerOptions }))
  await run(process.execPath, [compiler, '--project', file], consumer.folder)
}

const bundler = { module: 'esnext', moduleResolution: 'bundler' }
const both = ['app.mts', 'platform.mts']
describe.each(['5.4', '5.9', '6.0', '7.0'])('TypeScript %s checks an app', (version) => {
  const compiler = findRuntime(`typescript-${version}/bin/tsc`)

  test.skipIf(!compiler).each<[platform: string, files: string[], options: object]>([
    ['no platform types', ['app.mts'], { lib: ['es2022'], module: 'nodenext' }],
    ['DOM types, for a bundler', both, { lib: ['es2022', 'dom'], ...bundler }],
    ['Node.js types', both, { lib: ['es2022'], types: ['node'], module: 'nodenext' }],
  ])('with %s', (_, files, options) => compile(String(compiler), files, options))
})

const NAMES = ['9007199254740992', '9007199254740993', '-9223372036854775808', '3'].map((id) => `plant ${id} 🌱`)
const EXPECTED = [
  ...[...NAMES.map((name) => ({ name, tag: 'é' })), ...NAMES],
  ...[true, 400, 40003, 'string', 'aborted', 'malformed-response', 'timeout', 2],
]

/** The runtimes of apps, with the parameters that precede a file. Deno has no permission to read the environment. */
const runtimes: [name: string, program: string | undefined, ...parameters: string[]][] = [
  [`Node.js ${process.versions.node}`, process.execPath],
  ['Node.js 20', findRuntime('node-20/bin/node')],
  ['Node.js 22', findRuntime('node-22/bin/node')],
  ['Node.js 26', findRuntime('node-26/bin/node')],
  ['Bun', findRuntime('bun')],
  ['Deno', findRuntime('deno'), 'run', '--no-prompt', '--node-modules-dir=manual', '--allow-net=127.0.0.1'],
]

const { text } = await bundle("export { run } from './run.mjs'", consumer.folder)
const files: Record<string, [type: string, text: string]> = {
  '/': ['text/html', '<!doctype html><title>consumer</title>'],
  '/run.mjs': ['text/javascript', text],
}
const service = await startTestServer()
/** The target of the redirects, which must not get the token. */
const elsewhere = await startTinyServer((response) => response.end('[]'))
/** Passes requests on to the service, also under `/api`, and can redirect and hang. */
const proxy = await startTinyServer(async (response, { method, url: target, headers, body }) => {
  const url = target.replace(/^\/api(?=\/)/, '')
  const file = files[url]
  if (file) return response.writeHead(200, { 'content-type': file[0] }).end(file[1])
  if (url.startsWith('/redirect/')) return response.writeHead(302, { location: `${elsewhere.url}${url}` }).end()
  if (url.startsWith('/hang/')) return undefined
  const passed = { authorization: headers.authorization ?? '', 'content-type': headers['content-type'] ?? '' }
  const forwarded = await fetch(service.url + url, { method, headers: passed, ...(body && { body }) })
  return response.writeHead(forwarded.status, Object.fromEntries(forwarded.headers)).end(await forwarded.text())
})

describe('the package runs', () => {
  afterAll(() => expect(elsewhere.requests, 'the token reached another origin').toEqual([]))
  const createToken = async () => (await service.createToken({ account: randomUUID() })).token

  for (const [name, program, ...parameters] of runtimes) {
    test.skipIf(!program)(`on ${name}`, async () => {
      const start = [...parameters, 'start.mjs', proxy.url, await createToken()]
      expect(JSON.parse(await run(String(program), start, consumer.folder))).toEqual(EXPECTED)
    })

    // Deno runs CommonJS from npm packages only.
    if (name === 'Deno') continue
    test.skipIf(!program)(`on ${name} as CommonJS`, async () => {
      expect(await run(String(program), ['start.cjs'], consumer.folder)).toBe('true true false\n')
    })
  }

  test.skipIf(!browserPath)('in Chromium', async () => {
    await using chrome = await chromium.launch(browserOptions)
    const page = await chrome.newPage()
    await page.goto(proxy.url)
    // In a browser, the base URL may be a path of the page's origin.
    const call = `import('/run.mjs').then(({ run }) => run('/api', ${JSON.stringify(await createToken())}))`
    expect(JSON.parse(await page.evaluate(call))).toEqual(EXPECTED)
  })
})
