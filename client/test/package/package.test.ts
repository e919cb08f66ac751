/** The package as an app installs it: from its tarball, outside the workspace. */
import { randomUUID } from 'node:crypto'
import { cp, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { browserOptions, browserPath } from '../../../test/helpers/browser.ts'
import { type Consumer, installPackage, readPackage, run } from '../../../test/helpers/packed-package.ts'
import { explainSkipped, findRuntime, noteAbsence } from '../../../test/helpers/runtimes.ts'
import { startTestServer, type TestServer } from '../../../test/helpers/server/start-test-server.ts'
import { bundle } from '../helpers/bundle.ts'
import { startTinyServer, type TinyServer } from '../helpers/tiny-server.ts'

const MINUTE = 60_000
const workspace = fileURLToPath(new URL('../../..', import.meta.url))
const ownCompiler = path.join(workspace, 'node_modules/typescript/bin/tsc')

let consumer: Consumer
beforeAll(async () => {
  consumer = await installPackage(path.join(workspace, 'client'))
  await cp(path.join(workspace, 'client/test/consumer'), consumer.folder, { recursive: true })
}, MINUTE)
afterAll(explainSkipped)

async function readInstalled(file: string): Promise<string> {
  return await readFile(path.join(consumer.installed, file), 'utf8')
}

describe('the package has', () => {
  test('no dependencies, no side effects, and its license', async () => {
    const { dependencies, peerDependencies, sideEffects, engines } = JSON.parse(await readInstalled('package.json'))
    expect([dependencies, peerDependencies, sideEffects]).toEqual([undefined, undefined, false])
    expect(engines).toMatchObject({ node: expect.any(String) })
    expect(await readInstalled('LICENSE')).toMatch(/^MIT License\n\nCopyright .* Plant Store maintainers/)
  })

  test('both formats with their types, source maps to included sources, and no imports from other packages', async () => {
    const { files, imported } = await readPackage(consumer)
    expect(files).toEqual(
      expect.arrayContaining(['dist/esm/index.js', 'dist/cjs/testing/index.d.ts', 'docs/recipes.md']),
    )
    expect(files.filter((file) => file.startsWith('example/'))).toEqual([])
    expect(imported).toEqual([])
    // An editor shows the comments.
    expect(await readInstalled('dist/esm/generated/operations.d.ts')).toContain('* Creates a new plant')
  })
})

test('the package costs at most 6,000 type instantiations', async () => {
  const config = { lib: ['es2022', 'dom'], module: 'nodenext', files: ['minimal.mts'] }
  const output = await compile(ownCompiler, 'cost', config, ['--extendedDiagnostics'])
  const count = Number(/^Instantiations:\s+(\d+)$/m.exec(output)?.[1])
  console.log(`type-checking a consumer: ${count} instantiations`)
  expect(count).toBeGreaterThan(0)
  expect(count).toBeLessThanOrEqual(6000)
})

/** Compiles files of the consumer. Throws with the errors of the compiler. */
async function compile(
  compiler: string,
  name: string,
  { files, module, ...options }: { files: string[]; module: string; [option: string]: unknown },
  parameters: string[] = [],
): Promise<string> {
  const config = {
    extends: './tsconfig.json',
    files,
    compilerOptions: {
      module: module === 'bundler' ? 'esnext' : module,
      moduleResolution: module,
      typeRoots: [path.join(workspace, 'node_modules/@types')],
      ...options,
    },
  }
  const file = path.join(consumer.folder, `tsconfig.${name}.json`)
  await writeFile(file, JSON.stringify(config))
  return await run(process.execPath, [compiler, '--project', file, ...parameters], consumer.folder)
}

const platforms = {
  'no platform types': { lib: ['es2022'], files: ['app.mts'] },
  'DOM types': { lib: ['es2022', 'dom'], files: ['app.mts', 'platform.mts'] },
  'Node.js types': { lib: ['es2022'], types: ['node'], files: ['app.mts', 'platform.mts'] },
}

describe.each(['5.4', '5.9', '6.0', '7.0'])('TypeScript %s checks an app', (version) => {
  const compiler = findRuntime(`typescript-${version}/bin/tsc`) ?? (version === '7.0' ? ownCompiler : undefined)
  noteAbsence(`TypeScript ${version}`, compiler)

  test.skipIf(!compiler).each(Object.entries(platforms))('with %s', { timeout: MINUTE }, async (platform, options) => {
    const name = `${version}.${Object.keys(platforms).indexOf(platform)}`
    const files = [...options.files, 'app.cts']
    await Promise.all([
      compile(String(compiler), `${name}.nodenext`, { ...options, files, module: 'nodenext' }),
      compile(String(compiler), `${name}.bundler`, { ...options, module: 'bundler' }),
    ])
  })
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
  ['Node.js 24', findRuntime('node-24/bin/node')],
  ['Node.js 26', findRuntime('node-26/bin/node')],
  ['Bun', findRuntime('bun')],
  ['Deno', findRuntime('deno'), 'run', '--no-prompt', '--node-modules-dir=manual', '--allow-net=127.0.0.1'],
]

describe('the package runs', () => {
  let service: TestServer
  /** The target of the redirects, which must not get the token. */
  let elsewhere: TinyServer
  /** Passes requests on to the service, also under `/api`, and can redirect and hang. */
  let proxy: TinyServer
  beforeAll(async () => {
    const { text } = await bundle("export { run } from './run.mjs'", consumer.folder)
    const files: Record<string, [type: string, text: string]> = {
      '/': ['text/html', '<!doctype html><title>consumer</title>'],
      '/run.mjs': ['text/javascript', text],
    }
    service = await startTestServer()
    elsewhere = await startTinyServer((response) => response.end('[]'))
    proxy = await startTinyServer(async (response, { method, url: target, headers, body }) => {
      const url = target.replace(/^\/api(?=\/)/, '')
      const file = files[url]
      if (file) return response.writeHead(200, { 'content-type': file[0] }).end(file[1])
      if (url.startsWith('/redirect/')) return response.writeHead(302, { location: `${elsewhere.url}${url}` }).end()
      if (url.startsWith('/hang/')) return undefined
      const passed = { authorization: headers.authorization ?? '', 'content-type': headers['content-type'] ?? '' }
      const forwarded = await fetch(service.url + url, { method, headers: passed, ...(body && { body }) })
      return response.writeHead(forwarded.status, Object.fromEntries(forwarded.headers)).end(await forwarded.text())
    })
  })
  afterAll(async () => {
    for (const resource of [proxy, elsewhere, service]) await resource[Symbol.asyncDispose]()
    expect(elsewhere.requests, 'the token reached another origin').toEqual([])
  })
  const createToken = async () => (await service.createToken({ account: randomUUID() })).token

  for (const [name, program, ...parameters] of runtimes) {
    noteAbsence(name, program)

    test.skipIf(!program)(`on ${name}`, { timeout: MINUTE }, async () => {
      const start = [...parameters, 'start.mjs', proxy.url, await createToken()]
      expect(JSON.parse(await run(String(program), start, consumer.folder))).toEqual(EXPECTED)
    })

    // Deno runs CommonJS from npm packages only.
    if (name === 'Deno') continue
    test.skipIf(!program)(`on ${name} as CommonJS`, { timeout: MINUTE }, async () => {
      const output = await run(String(program), ['start.cjs'], consumer.folder)
      expect(JSON.parse(output)).toEqual([true, true, true, false, true, true, false])
    })
  }

  noteAbsence('Chromium', browserPath)
  test.skipIf(!browserPath)('in Chromium', { timeout: MINUTE }, async () => {
    await using chrome = await chromium.launch(browserOptions)
    const page = await chrome.newPage()
    await page.goto(proxy.url)
    // In a browser, the base URL may be a path of the page's origin.
    const call = `import('/run.mjs').then(({ run }) => run('/api', ${JSON.stringify(await createToken())}))`
    expect(JSON.parse(await page.evaluate(call))).toEqual(EXPECTED)
  })
})
