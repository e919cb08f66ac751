/** Builds the image and runs the commands of docs/production/container, with Debian's programs and no registry of images. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { installDocker, missingPrograms, removeDocker } from '../helpers/container/docker.ts'
import { startOwnPostgresql } from '../helpers/database/databases.ts'
import { demandPasswords } from '../helpers/database/postgresql.ts'
import { run } from '../helpers/packed-package.ts'
import { codeBlock, readGuide, shell } from '../helpers/production/guide.ts'
import { freePort, responds, root, until } from '../helpers/programs.ts'
import { callPlants } from '../helpers/server/call-plants.ts'
import { temporaryFolder } from '../helpers/temporary.ts'

const guide = readGuide('container/README.md')
const missing = missingPrograms()
const [port, adminPort] = [await freePort(), await freePort()]
const url = `http://127.0.0.1:${port}`

describe.runIf(missing.length === 0)('the image', () => {
  const folder = temporaryFolder()
  const backups = path.join(folder, 'backups')
  const nodeVersion = readFileSync(`${root}.node-version`, 'utf8').trim()
  let token: string

  beforeAll(async () => {
    await installDocker(folder, nodeVersion, { PORT: String(port), ADMIN_PORT: String(adminPort) })
    await runBlock('Build', 0)
  }, 900_000)
  afterAll(() => removeDocker(folder))

  const docker = (...parameters: string[]) => run(path.join(folder, 'docker'), parameters, folder)

  /** Runs a code block of the guide. */
  function runBlock(section: string, block: number): Promise<string> {
    const text = codeBlock(guide, section, block)
      .replaceAll('/var/backups/plant-store', backups)
      .replaceAll('127.0.0.1:3001', `127.0.0.1:${adminPort}`)
      .replaceAll('plants-2026-11-21-000000.db', '$(ls /backups | tail -1)')
    return shell(text, { env: { ...process.env, PATH: `${folder}:${process.env['PATH']}` } })
  }

  const waitUntilReady = () => until(responds(`http://127.0.0.1:${adminPort}/readyz`, (status) => status === 200))

  const inspect = async (format: string, name = 'localhost/plant-store') =>
    (await docker('inspect', '--format', format, name)).trim()

  /** Creates a plant, and returns the names of all. */
  async function create(id: number): Promise<string[]> {
    const body = JSON.stringify({ id, name: `plant ${id}` })
    expect((await callPlants({ url, token }, { body })).status).toBe(200)
    return names()
  }

  async function names(): Promise<string[]> {
    const list: { name: string }[] = JSON.parse((await callPlants({ url, token })).body)
    return list.map(({ name }) => name)
  }

  test('adds at most 80 MB to Node.js, and runs as a numeric user', async () => {
    const base = Number(await inspect('{{.Size}}', `docker.io/library/node:${nodeVersion}-bookworm-slim`))
    const added = Number(await inspect('{{.Size}}')) - base
    console.log(`The image adds ${(added / 1e6).toFixed(1)} MB to Node.js.`)
    expect(added).toBeLessThan(80e6)
    expect(await inspect('{{.Config.User}}')).toBe('1000:1000')
  })

  test('has neither sources nor what npm and pnpm have cached, nor the secret of the build', async () => {
    const find = `find / -xdev \\( -name .npmrc -o -name _cacache -o -name .pnpm-store -o -name '*.tsbuildinfo' -o -path /source -o -path /root/.local \\) 2>/dev/null || true`
    expect(await docker('run', '--rm', '--user=0', '--entrypoint=sh', 'plant-store', '-c', find)).toBe('')
  })

  test('serves on a new volume, and the commands of the guide create and list tokens, and check its health', async () => {
    await runBlock('Run', 0)
    await waitUntilReady()
    token = (await runBlock('Create a token', 0)).trim()
    expect(token).toMatch(/^pst_\w+$/)
    expect(await create(1)).toEqual(['plant 1'])
    expect(await runBlock('Create a token', 1)).toContain('me')
    const page = await (await fetch(`${url}/docs`)).text()
    expect(page).toContain('<span>plant-store</span> <span>token create</span>')
    expect((await fetch(`${url}/docs/swagger-ui-bundle.js`)).status).toBe(200)
    expect(await runBlock('Watch', 0)).toMatch(/^ready\n/)
    await docker('healthcheck', 'run', 'plant-store')
  })

  test('Node.js is the first process, without capabilities, and can write to its volume only', async () => {
    const script = `tr '\\0' ' ' </proc/1/cmdline; grep -h CapEff /proc/1/status; touch /data/x /app/x 2>&1 || rm /data/x`
    const lines = (await docker('exec', 'plant-store', 'sh', '-c', script)).split('\n')
    expect(lines[0]).toBe('node /usr/local/bin/plant-store serve CapEff:\t0000000000000000')
    expect(lines.slice(1)).toEqual(["touch: cannot touch '/app/x': Read-only file system", ''])
  })

  test('a backup is taken while the server runs, and restored', async () => {
    await runBlock('Back up', 0)
    await runBlock('Back up', 1)
    // Twice: what the first restore has put away must survive the second.
    for (const id of [2, 4]) {
      expect(await create(id)).toEqual(['plant 1', `plant ${id}`])
      // The name of the folder has seconds.
      await shell('sleep 1')
      await runBlock('Restore', 0)
      await waitUntilReady()
      expect(await names()).toEqual(['plant 1'])
    }
    const kept = await docker('exec', 'plant-store', 'sh', '-c', 'ls -d /data/before*/plant-store.db')
    expect(kept.trim().split('\n')).toHaveLength(2)
  })

  test('SIGTERM ends it with exit code 0, and a new container continues with the volume', async () => {
    await docker('stop', 'plant-store')
    // Killed after ten seconds, it would be 137.
    expect(await inspect('{{.State.ExitCode}}', 'plant-store')).toBe('0')
    await runBlock('Upgrade', 0)
    await runBlock('Upgrade', 1)
    await runBlock('Run', 0)
    await waitUntilReady()
    expect(await create(3)).toEqual(['plant 1', 'plant 3'])
    await docker('stop', 'plant-store')
  })

  test('the migration and a server of the profile postgresql run with the settings of compose.yaml', async () => {
    const { services } = parse(readFileSync(`${root}compose.yaml`, 'utf8'), { merge: true })
    const postgresql = await startOwnPostgresql({ prepare: demandPasswords })
    await postgresql.administrate(`CREATE ROLE plant_store LOGIN PASSWORD 'secret'`)
    await postgresql.administrate(`CREATE DATABASE plants OWNER plant_store TEMPLATE template0 ENCODING 'UTF8'`)
    /** Runs a service of compose.yaml, without its network. */
    const runService = (name: string, ...options: string[]) => {
      const { environment, command = [] } = services[name]
      const url = environment.DATABASE_URL.replace('database', `127.0.0.1:${postgresql.port}`)
      const settings = { ...environment, PGPASSWORD: 'secret', DATABASE_URL: String(url) }
      const variables = Object.entries(settings).map(([variable, value]) => `--env=${variable}=${value}`)
      const hardened = ['--read-only', '--cap-drop=ALL', '--security-opt=no-new-privileges']
      return docker('run', `--name=${name}`, ...hardened, ...variables, ...options, 'plant-store', ...command)
    }
    await runService('migrate')
    await runService('server-1', '--detach', `--env=PORT=${port}`, `--env=ADMIN_PORT=${adminPort}`)
    await waitUntilReady()
    token = (await docker('exec', 'server-1', 'plant-store', 'token', 'create', '--account', 'me')).trim()
    expect(await create(1)).toEqual(['plant 1'])
    await docker('kill', 'server-1')
  })
})
