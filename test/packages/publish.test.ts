/** Publishing to a registry that asks for a one-time password, as npm's does of those who sign in with two factors. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { until } from '../helpers/until.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const MINUTE = 60_000
const PASSWORD = '123456'

// On other systems, `script` takes other arguments.
test.skipIf(process.platform !== 'linux')(
  'a one-time password is read from the terminal',
  { timeout: 2 * MINUTE },
  async () => {
    const folder = temporaryFolder()
    const registry = await startRegistry()
    const userconfig = path.join(folder, 'npmrc')
    writeFileSync(userconfig, `registry=${registry.url}\n${registry.url.replace('http:', '')}:_authToken=none\n`)
    const code = `import { publishPackage } from './scripts/release/publish.mjs'
      publishPackage(${JSON.stringify(pack(folder))}, { isDryRun: false })`
    const file = path.join(folder, 'publish.mjs')
    writeFileSync(file, code.replace("'./", `'${root}`))
    const script = spawn(
      'script',
      ['--quiet', '--return', '--command', `"${process.execPath}" "${file}"`, '/dev/null'],
      {
        env: {
          PATH: process.env['PATH'],
          HOME: folder,
          npm_config_userconfig: userconfig,
          npm_config_progress: 'false',
        },
        stdio: ['pipe', 'pipe', 'inherit'],
      },
    )
    onTestFinished(() => void script.kill('SIGKILL'))
    const closed = once(script, 'close')
    let output = ''
    script.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
    await until(() => output.includes('one-time password') || script.exitCode !== null, MINUTE)
    script.stdin.write(`${PASSWORD}\r`)
    const [exitCode] = await closed
    expect(output).toContain('Published example@1.0.0')
    expect(exitCode).toBe(0)
    expect(registry.published).toEqual(['example'])
  },
)

/** Packs an empty package. */
function pack(folder: string): { tarball: string; manifest: { name: string; version: string } } {
  const manifest = { name: 'example', version: '1.0.0' }
  const tarball = path.join(folder, 'example.tgz')
  mkdirSync(path.join(folder, 'package'))
  writeFileSync(path.join(folder, 'package/package.json'), JSON.stringify(manifest))
  execFileSync('tar', ['--create', '--gzip', `--file=${tarball}`, `--directory=${folder}`, 'package'])
  return { tarball, manifest }
}

/** Starts a registry without packages, and lists what is published to it with the password. */
async function startRegistry(): Promise<{ url: string; published: string[] }> {
  const published: string[] = []
  const server = createServer(async (request, response) => {
    for await (const _ of request);
    const isAllowed = request.headers['npm-otp'] === PASSWORD
    if (request.method !== 'PUT') response.writeHead(404).end('{}')
    else if (!isAllowed)
      response.writeHead(401, { 'www-authenticate': 'OTP' }).end('{"error":"one-time pass required"}')
    else {
      published.push(String(request.url).slice(1))
      response.writeHead(201).end('{}')
    }
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, published }
}
