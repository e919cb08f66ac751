/** A release to a registry on this machine, and what apps and operators then install from it. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, realpathSync } from 'node:fs'
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bareMachine, TRUST } from '../helpers/bare-machine.ts'
import { INSTALL_TIMEOUT } from '../helpers/install-tools.ts'
import { isLong } from '../helpers/long-tests.ts'
import { noteAbsence } from '../helpers/runtimes.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { until } from '../helpers/until.ts'
import { type Registry, startRegistry } from './registry/start-registry.ts'

if (!isLong) console.log('No release is rehearsed: set PLANT_STORE_LONG_TESTS=1 for that.')

const execute = promisify(execFile)
const root = fileURLToPath(new URL('../../', import.meta.url))
const TIMEOUT = 300_000
const names = ['contract', 'prisma', 'server', 'client']

let folder: string
let clone: string
let registry: Registry
/** The version that the rehearsal releases: the next minor one. */
let version: string

/** Runs a program with a newcomer's environment. Returns all that it printed. */
async function run(program: string, parameters: string[], cwd: string, settings: Record<string, string> = {}) {
  const { PATH = '', HOME = '' } = process.env
  const env = { PATH, HOME, CI: 'true', ...TRUST, ...settings }
  const { stdout, stderr } = await execute(program, parameters, { cwd, env, maxBuffer: 2 ** 24 })
  return stdout + stderr
}

const git = async (...parameters: string[]) => (await execute('git', parameters, { cwd: clone })).stdout.trim()
const release = (...parameters: string[]) => run('npm', ['run', 'release', '--', '--tested', ...parameters], clone)

/** Returns what a release that fails has printed. */
async function failure(...parameters: string[]): Promise<string> {
  return await release(...parameters).then(
    (output) => `It did not fail:\n${output}`,
    ({ stdout, stderr }) => stdout + stderr,
  )
}

/** Returns the versions that the registry has of a package. */
async function versionsOf(name: string): Promise<string[]> {
  const response = await fetch(`${registry.url}@plant-store%2f${name}`)
  if (response.status === 404) return []
  const { versions } = (await response.json()) as { versions: Record<string, unknown> }
  return Object.keys(versions)
}

describe.runIf(isLong)('a release', () => {
  beforeAll(async () => {
    folder = temporaryFolder()
    clone = path.join(folder, 'plant-store')
    registry = await startRegistry(path.join(folder, 'registry'))
    const origin = path.join(folder, 'origin.git')
    await execute('git', ['clone', '--quiet', root, clone])
    await git('checkout', '--quiet', '-B', 'main')
    await git('clone', '--quiet', '--bare', clone, origin)
    await git('remote', 'set-url', 'origin', origin)
    await git('config', 'user.name', 'Alice')
    await git('config', 'user.email', 'alice@example.com')
    await writeFile(path.join(clone, '.npmrc'), registry.settings)
    await writeFile(path.join(clone, '.git/info/exclude'), '.npmrc\n')
    const [major, minor] = JSON.parse(await readFile(`${root}client/package.json`, 'utf8')).version.split('.')
    version = `${major}.${Number(minor) + 1}.0`
  }, INSTALL_TIMEOUT)
  afterAll(() => registry.close())

  test('as a dry run changes nothing', { timeout: TIMEOUT }, async () => {
    await addChangeset()
    const output = await release('--dry-run')
    for (const name of names) {
      expect(output).toContain(`Would publish @plant-store/${name}@${version}`)
      expect(await versionsOf(name)).toEqual([])
    }
    expect(await git('status', '--porcelain')).toBe('')
    expect(await git('rev-parse', 'HEAD')).toBe(await git('rev-parse', 'origin/main'))
    expect(await git('tag')).toBe('')
  })

  test('is rejected on another branch, with changes, and where main is not that of origin', {
    timeout: TIMEOUT,
  }, async () => {
    await git('checkout', '--quiet', '-b', 'feature')
    expect(await failure()).toContain('This is the branch feature: releases are made from main.')
    await git('checkout', '--quiet', 'main')
    await writeFile(path.join(clone, 'notes.txt'), 'unfinished')
    expect(await failure()).toContain('Commit or remove these changes first:\n?? notes.txt')
    await git('clean', '--quiet', '--force')
    await git('commit', '--quiet', '--allow-empty', '--message', 'test: not pushed')
    expect(await failure()).toContain('main differs from origin/main')
    await git('reset', '--quiet', '--hard', 'origin/main')
  })

  test('whose push is rejected publishes nothing, and leaves a tag that follows a rebase', {
    timeout: TIMEOUT,
  }, async () => {
    const hook = path.join(clone, '.git/hooks/pre-push')
    const other = "$(git commit-tree 'origin/main^{tree}' -p origin/main -m 'docs: pushed meanwhile')"
    await writeFile(hook, `#!/bin/sh -e\nrm "$0"\ngit push --quiet origin ${other}:refs/heads/main\n`)
    await chmod(hook, 0o755)
    expect(await failure()).toContain(`git push --quiet --atomic origin main v${version} failed.`)
    for (const name of names) expect(await versionsOf(name)).toEqual([])
    expect(await git('ls-remote', '--tags', 'origin')).toBe('')
    expect(await failure()).toContain('main differs from origin/main: run `git pull --rebase`')
    await git('pull', '--quiet', '--rebase', 'origin', 'main')
    await git('push', '--quiet', 'origin', 'main')
    expect(await git('rev-parse', `v${version}^{commit}`)).not.toBe(await git('rev-parse', 'HEAD'))
  })

  test('sets the version and the changelog, tags, and publishes every package', { timeout: TIMEOUT }, async () => {
    await release()
    for (const name of names) {
      expect(await versionsOf(name)).toEqual([version])
      expect(JSON.parse(await readFile(path.join(clone, name, 'package.json'), 'utf8')).version).toBe(version)
    }
    const changelog = await readFile(path.join(clone, 'CHANGELOG.md'), 'utf8')
    expect(changelog).toMatch(
      new RegExp(`^# Changelog\n\n## ${version} \\(\\d{4}-\\d\\d-\\d\\d\\)\n\n- Plants can be tall\\.\n`),
    )
    expect(await readFile(path.join(clone, 'client/src/wire/request.ts'), 'utf8')).toContain(`'${version}'`)
    expect(await git('status', '--porcelain')).toBe('')
    expect(await git('ls-remote', 'origin', 'main')).toContain(await git('rev-parse', 'HEAD'))
    expect(await git('ls-remote', 'origin', `v${version}^{}`)).toContain(await git('rev-parse', 'HEAD'))
    expect(await git('ls-files', '.changeset/*.md')).toBe('.changeset/README.md')
  })

  test('that failed midway publishes what is missing, and then there is nothing to release', {
    timeout: TIMEOUT,
  }, async () => {
    await run('npm', ['unpublish', '--force', '@plant-store/client'], clone)
    await git(
      'push',
      '--quiet',
      'origin',
      `${await git('commit-tree', 'HEAD^{tree}', '-p', 'HEAD', '-m', 'docs: later')}:main`,
    )
    await git('pull', '--quiet', 'origin', 'main')
    expect(await failure()).toContain(`v${version} is another commit than main`)
    await git('reset', '--quiet', '--hard', 'HEAD~1')
    await git('push', '--quiet', '--force', 'origin', 'main')
    const output = await release()
    expect(output.match(/^Published .*$/gm)).toEqual([`Published @plant-store/client@${version}`])
    expect(await versionsOf('client')).toEqual([version])
    expect(await failure()).toContain(`Nothing to release: ${version} is published.`)
  })

  async function addChangeset(): Promise<void> {
    const file = path.join(clone, '.changeset/tall-plants.md')
    await writeFile(file, '---\n"@plant-store/client": minor\n---\n\nPlants can be tall.\n')
    await git('add', '.')
    await git('commit', '--quiet', '--message', 'feat: tall plants')
    await git('push', '--quiet', 'origin', 'main')
  }

  // As server/README.md says, where FOLDER has what `npm run pack -- FOLDER` makes.
  const pnpm = `node ${root}scripts/pnpm.mjs`
  describe.each([
    ['npm 11 on Node.js 22', 'node-22', 'npm-11', 'npm install @plant-store/server'],
    ['npm 12 on Node.js 24', 'node-24', 'npm-12', 'npm install @plant-store/server'],
    ['pnpm on Node.js 24', 'node-24', 'npm-12', 'pnpm add @plant-store/server'],
    [
      'npm 12 on Node.js 26 from tarballs',
      'node-26',
      'npm-12',
      'npm install FOLDER/plant-store-contract.tgz FOLDER/plant-store-prisma.tgz FOLDER/plant-store-server.tgz',
    ],
  ])('installed without a compiler, with %s', (name, node, npm, command) => {
    const machine = bareMachine(node, npm)
    noteAbsence(name, machine)
    // With the settings of npm that a new user has.
    const settings = { PATH: String(machine), HOME: temporaryFolder() }
    let app: string
    let output: string
    beforeAll(async () => {
      app = path.join(folder, `app with ${name}`)
      await mkdir(app)
      await writeFile(path.join(app, 'package.json'), '{ "private": true, "type": "module" }')
      let client = '@plant-store/client'
      if (command.includes('FOLDER')) {
        await run('npm', ['run', 'pack', '--', path.join(folder, 'packed')], clone)
        client = 'FOLDER/plant-store-client.tgz'
      } else {
        await writeFile(path.join(app, '.npmrc'), registry.settings)
      }
      const line = `${command} ${client}`.replace(/^pnpm/, pnpm).replaceAll('FOLDER', path.join(folder, 'packed'))
      if (machine) output = await run('sh', ['-c', line], app, settings)
    }, INSTALL_TIMEOUT)

    test('has the command that the README of the server names', async () => {
      expect(await readFile(`${root}server/README.md`, 'utf8')).toContain(command)
    })

    test.skipIf(!machine)('warns of nothing, has one SQLite and no analytics', async () => {
      expect(output).not.toMatch(/warn|engine|deprecated|peer|ERESOLVE|[1-9] vulnerab|script|build/i)
      const files = await readdir(path.join(app, 'node_modules'), { recursive: true })
      expect(files.filter((file) => /@scarf|swagger-ui-dist|@prisma.engines/.test(file))).toEqual([])
      // pnpm links to a package from several places.
      const found = files.filter((file) => /(?<!types.)better-sqlite3.package\.json$/.test(file))
      expect(new Set(found.map((file) => realpathSync(path.join(app, 'node_modules', file))))).toHaveProperty('size', 1)
    })

    test.skipIf(!machine)(
      'the server runs in the current folder, and the SDK calls it',
      { timeout: TIMEOUT },
      async () => {
        await writeFile(path.join(app, '.env'), 'PORT=0\nNODE_ENV=production\nDATABASE_URL=file:./plants.db\n')
        const server = await serve(app, settings)
        try {
          expect(existsSync(path.join(app, 'plants.db'))).toBe(true)
          const [command = ''] = /npx --no plant-store token create --account \w+/.exec(server.output()) ?? []
          const [token = ''] = /pst_\w+/.exec(await run('sh', ['-c', command], app, settings)) ?? []
          const code = `
          import { createPlantStoreClient } from '@plant-store/client'
          const client = createPlantStoreClient({ baseUrl: '${server.url}', token: '${token}' })
          await client.createPlant({ id: 9007199254740993n, name: 'Monstera', tag: 'aroid' })
          console.log(JSON.stringify(await client.getPlants()))`
          const printed = await run('node', ['--input-type=module', '--eval', code], app, settings)
          expect(printed).toBe('[{"name":"Monstera","tag":"aroid"}]\n')
          for (const file of ['', '/page.js', '/swagger-ui.css', '/swagger-ui-bundle.js']) {
            expect((await fetch(`${server.url}/docs${file}`)).status).toBe(200)
          }
          expect(await (await fetch(`${server.url}/docs`)).text()).toContain('<span>npx --no plant-store</span>')
        } finally {
          await server.close()
        }
        expect((await run('npx', ['plant-store', '--version'], app, settings)).split('\n')).toContain(version)
      },
    )
  })
})

/** Runs `npx plant-store serve` in a folder until it is ready. */
async function serve(
  app: string,
  env: NodeJS.ProcessEnv,
): Promise<{ url: string; output(): string; close(): Promise<void> }> {
  // In a process group of its own, so that npx and the server receive the signal.
  const child = spawn('npx', ['plant-store', 'serve'], { cwd: app, env, detached: true })
  const closed = once(child, 'close')
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  const close = async () => {
    if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGTERM')
    await closed
  }
  try {
    await until(() => /"msg":"ready"/.test(output) || child.exitCode !== null, TIMEOUT)
    const [, url] = /"url":"([^"]+)"/.exec(output) ?? []
    if (url === undefined) throw new Error(`The server did not start:\n${output}`)
    return { url, output: () => output, close }
  } catch (error) {
    await close()
    throw error
  }
}
