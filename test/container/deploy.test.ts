/** Deploys the server as docs/production does and runs what was deployed. */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

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

test('what is deployed is small, and has every module that the server can load', () => {
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

  // Imports every module of our packages, and what they import only when a setting asks for it.
  const flags = ['--experimental-import-meta-resolve', '--no-warnings', '--input-type=module', '--eval']
  const script = `
    import { globSync, readFileSync } from 'node:fs'
    import { pathToFileURL } from 'node:url'
    // Other than programs, and what runs in a browser.
    const skipped = /dist.(main|.*(command-line|-process)|docs.(page|swagger-ui).*)\\.js$/
    const files = globSync('{dist,node_modules/@plant-store/*/dist}/**/*.js').filter((file) => !skipped.test(file))
    const modules = new Set(files.map((file) => pathToFileURL(file).href))
    for (const module of [...modules]) {
      const text = readFileSync(new URL(module), 'utf8')
      for (const [, name] of text.matchAll(/import\\(["']([^"']+)["']\\)/g)) modules.add(import.meta.resolve(name, module))
    }
    for (const module of modules) await import(module)
    console.log([...modules].join(' '))
    process.exit()`
  const { stdout, stderr } = spawnSync(process.execPath, [...flags, script], { cwd: folder, encoding: 'utf8' })
  expect(stderr).toBe('')
  for (const name of ['pino-pretty', 'postgresql.wasm']) expect(stdout).toContain(name)
})
