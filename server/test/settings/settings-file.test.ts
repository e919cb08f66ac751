import { execFileSync } from 'node:child_process'
import { cpSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))

test.each([
  ['a release does not read', 'plant-store-1.0.0', ''],
  ['a package in node_modules reads', 'node_modules/@plant-store/server', 'from the file'],
])('%s the file .env of the current folder', (_what, name, expected) => {
  const cwd = temporaryFolder()
  writeFileSync(path.join(cwd, '.env'), 'ACCESS_LOG=from the file\n')
  const server = path.join(cwd, name)
  const prisma = path.join(server, 'node_modules/@plant-store/prisma')
  // What reads settings, built, outside of the repository, with what it needs of the other package.
  cpSync(`${root}server/dist/installation.js`, path.join(server, 'dist/installation.js'))
  cpSync(`${root}prisma/dist/base-folder.js`, path.join(prisma, 'dist/index.js'))
  for (const folder of [server, prisma]) {
    writeFileSync(path.join(folder, 'package.json'), '{"type": "module", "exports": "./dist/index.js"}')
  }
  const code = `import { loadSettings } from '${pathToFileURL(path.join(server, 'dist/installation.js'))}'
    process.stdout.write(loadSettings().ACCESS_LOG ?? '')`
  const output = execFileSync(process.execPath, ['--input-type=module', '--eval', code], { cwd, env: {} })
  expect(String(output)).toBe(expected)
})
