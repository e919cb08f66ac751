import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../test/helpers/temporary-folder.ts'

const reference = fileURLToPath(new URL('../reference/', import.meta.url))

test('the API reference says what the doc comments say: `pnpm generate` makes it anew', () => {
  const folder = temporaryFolder()
  const typedoc = path.join(reference, 'node_modules/typedoc/bin/typedoc')
  execFileSync(process.execPath, [typedoc, '--out', folder], { cwd: reference })
  const files = readdirSync(folder)
  expect(files.sort()).toEqual(readdirSync(path.join(reference, 'api')).sort())
  for (const file of files) {
    expect(readFileSync(path.join(folder, file), 'utf8')).toBe(readFileSync(path.join(reference, 'api', file), 'utf8'))
  }
})
