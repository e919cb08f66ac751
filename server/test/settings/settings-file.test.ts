import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { freePort } from '../../../test/helpers/free-port.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))

/** Copies the built server and its database package to a folder, outside of the repository, with their dependencies. */
function install(folder: string): void {
  cpSync(`${root}server/dist`, path.join(folder, 'dist'), { recursive: true })
  cpSync(`${root}server/package.json`, path.join(folder, 'package.json'))
  const modules = path.join(folder, 'node_modules')
  const ours = path.join(modules, '@plant-store/prisma')
  for (const name of ['dist', 'package.json', 'migrations']) {
    cpSync(`${root}prisma/${name}`, path.join(ours, name), { recursive: true })
  }
  for (const [name, target] of new Map([...dependencies('prisma'), ...dependencies('server')])) {
    const link = path.join(modules, name)
    mkdirSync(path.dirname(link), { recursive: true })
    if (name !== '@plant-store/prisma') symlinkSync(target, link, 'junction')
  }
}

/** Lists the dependencies of a package of this repository, each with its folder. */
function dependencies(name: string): Map<string, string> {
  const folder = `${root}${name}/node_modules`
  const names = readdirSync(folder).flatMap((entry) =>
    entry.startsWith('@') ? readdirSync(`${folder}/${entry}`).map((each) => `${entry}/${each}`) : [entry],
  )
  const all = names
    .filter((each) => !each.startsWith('.'))
    .map((each) => [each, realpathSync(`${folder}/${each}`)] as const)
  return new Map(all)
}

/** Runs a program of an installed server in a folder, without settings in the environment but these. */
function run(parameters: readonly string[], cwd: string, env: Record<string, string>): Promise<string> {
  return new Promise((resolve) => {
    execFile(process.execPath, parameters, { cwd, env }, (_, stdout, stderr) => resolve(stdout + stderr))
  })
}

test.each([
  ['a release does not read', 'plant-store-1.0.0', false],
  ['a package in node_modules reads', 'node_modules/@plant-store/server', true],
])('%s the file .env of the current folder', async (_, name, isRead) => {
  const cwd = temporaryFolder()
  const folder = path.join(cwd, name)
  install(folder)
  writeFileSync(path.join(cwd, '.env'), 'KEEP_ALIVE_TIMEOUT=forever\n')
  const environment = { DATABASE_URL: `file:${cwd}/missing.db`, PORT: String(await freePort()) }

  const listed = await run([path.join(folder, 'dist/main.js'), 'token', 'list'], cwd, environment)
  const checked = await run([path.join(folder, 'dist/health-check.js')], cwd, environment)
  expect(listed).toContain(isRead ? 'KEEP_ALIVE_TIMEOUT must be' : 'missing.db does not exist')
  expect(checked).toContain(isRead ? 'KEEP_ALIVE_TIMEOUT must be' : 'is not ready')
})
