import { execFileSync } from 'node:child_process'
import { cpSync, realpathSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../test/helpers/temporary-folder.ts'

const source = fileURLToPath(new URL('../src/base-folder.ts', import.meta.url))
const built = fileURLToPath(new URL('../dist/base-folder.js', import.meta.url))
const manifest = fileURLToPath(new URL('../package.json', import.meta.url))

/** Reads the base folder in a process of its own. */
function readBaseFolder(file: string, cwd: string): { baseFolder: string; runsFromRepository: boolean } {
  const code = `console.log(JSON.stringify({ ...(await import('${pathToFileURL(file)}')) }))`
  const parameters = ['--input-type=module', '--eval', code]
  return JSON.parse(execFileSync(process.execPath, parameters, { cwd, encoding: 'utf8' }))
}

test('in the repository, paths are relative to its root, not to the current folder', () => {
  const root = fileURLToPath(new URL('../../', import.meta.url))
  expect(readBaseFolder(source, temporaryFolder())).toMatchObject({ baseFolder: root, runsFromRepository: true })
})

test('in an installed package, paths are relative to the current folder', () => {
  const app = realpathSync(temporaryFolder())
  const installed = path.join(app, 'node_modules/@plant-store/prisma/dist/base-folder.js')
  cpSync(built, installed)
  cpSync(manifest, path.join(app, 'node_modules/@plant-store/prisma/package.json'))
  expect(readBaseFolder(installed, app)).toMatchObject({ baseFolder: app, runsFromRepository: false })
})
