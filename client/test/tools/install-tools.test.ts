import { spawnSync } from 'node:child_process'
import { mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import { installTools } from '../../../test/helpers/install-tools.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'

/** Writes a folder of tools with these dependencies and an empty lockfile. */
async function createTools(dependencies: Record<string, string>): Promise<string> {
  const parent = temporaryFolder()
  const source = path.join(parent, `tools-of-${path.basename(parent)}`)
  await mkdir(source)
  await writeFile(path.join(source, 'package.json'), JSON.stringify({ dependencies }))
  await writeFile(path.join(source, 'package-lock.json'), '{ "lockfileVersion": 3, "packages": {} }')
  return source
}

const foldersOf = async (source: string) =>
  (await readdir(process.env['PLANT_STORE_TOOLS'] ?? tmpdir())).filter((folder) =>
    folder.includes(path.basename(source)),
  )

test('tools that cannot be installed leave no folder', async () => {
  const source = await createTools({ missing: '1.0.0' })
  await expect(installTools(source)).rejects.toThrow('npm ci')
  expect(await foldersOf(source)).toEqual([])
})

test('tools are installed once for all, also after a process was killed that installed them', async () => {
  const source = await createTools({})
  const folder = await installTools(source)
  await rm(folder, { recursive: true })
  await symlink(String(spawnSync(process.execPath, ['--version']).pid), `${folder}.lock`)
  expect(await Promise.all([installTools(source), installTools(source)])).toEqual([folder, folder])
  expect(await foldersOf(source)).toEqual([path.basename(folder)])
  await rm(folder, { recursive: true })
})
