/** Deploys the server as docs/production does. */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../helpers/temporary.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

function deploy(...folders: string[]): { status: number | null; stderr: string } {
  return spawnSync('npm', ['run', '--silent', 'deploy', '--', ...folders], { cwd: root, encoding: 'utf8' })
}

test('without a folder, or with one that is not empty, it says what to do', () => {
  expect(deploy()).toMatchObject({ status: 1, stderr: 'Usage: npm run deploy -- FOLDER\n' })
  const folder = temporaryFolder()
  writeFileSync(path.join(folder, 'mine'), '')
  expect(deploy(folder)).toMatchObject({ status: 1, stderr: `${folder} is not empty. Name a new folder.\n` })
  expect(readdirSync(folder)).toEqual(['mine'])
})

// test/production-guide.test.ts runs it on both engines.
test('what is deployed is small, and has neither sources nor a path of this repository', () => {
  const folder = path.join(temporaryFolder(), 'plant-store')
  expect(deploy(folder)).toMatchObject({ status: 0 })
  expect(statSync(folder).mode & 0o777).toBe(0o755)
  const expected = ['CHANGELOG.md', 'LICENSE', 'README.md', 'dist', 'node_modules', 'package.json']
  expect(readdirSync(folder).sort()).toEqual(expected)
  expect(statSync(path.join(folder, 'dist/main.js')).mode & 0o777).toBe(0o755)

  const all = readdirSync(folder, { recursive: true, withFileTypes: true })
  const files = all.filter((entry) => entry.isFile())
  const bytes = files.reduce((sum, { name, parentPath }) => sum + statSync(path.join(parentPath, name)).size, 0)
  console.log(`What is deployed has ${(bytes / 1e6).toFixed(1)} MB.`)
  expect(bytes).toBeLessThan(30e6)
  expect(files.filter(({ name }) => /\.(?:map|ts)$|mysql|sqlserver|cockroach|^sqlite3\.c$/.test(name))).toEqual([])

  // Neither a name nor a text has the path of this repository, also not as pnpm writes it in names: with + for /.
  const paths = [root, root.slice(0, -1).replaceAll('/', '+')]
  expect(all.filter((entry) => entry.isSymbolicLink())).toEqual([])
  const withPath = files.filter(({ parentPath, name }) => {
    const file = path.join(parentPath, name)
    // Each byte is a character, also in a binary file.
    const text = file.slice(folder.length) + readFileSync(file, 'latin1')
    return paths.some((each) => text.includes(each))
  })
  expect(withPath).toEqual([])
})
