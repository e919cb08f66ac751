import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import { installTools } from '../../../test/helpers/install-tools.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'

test('tools that cannot be installed leave no folder', async () => {
  const parent = temporaryFolder()
  const name = `broken-tools-of-${path.basename(parent)}`
  const source = path.join(parent, name)
  await mkdir(source)
  await writeFile(path.join(source, 'package.json'), '{ "dependencies": { "missing": "1.0.0" } }')
  await writeFile(path.join(source, 'package-lock.json'), '{ "lockfileVersion": 3, "packages": {} }')
  await expect(installTools(source)).rejects.toThrow('npm ci')
  expect((await readdir(tmpdir())).filter((folder) => folder.includes(name))).toEqual([])
})
