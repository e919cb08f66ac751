import { execFile } from 'node:child_process'
import { afterAll, expect, test } from 'vitest'
import { explainSkipped, findRuntime, noteAbsence } from '../../../test/helpers/runtimes.ts'
import { commandLine, runCommand } from '../../../test/helpers/server/run-command.ts'
import { temporaryDatabase } from '../../../test/helpers/temporary-folder.ts'

afterAll(explainSkipped)

for (const version of ['18', '20']) {
  const node = findRuntime(`node-${version}/bin/node`)
  noteAbsence(`Node.js ${version}`, node)
  test.skipIf(!node)(`on Node.js ${version} every command says in a sentence which versions it needs`, async () => {
    const [, ...parameters] = commandLine(['serve'])
    const result = await new Promise((resolve) =>
      execFile(String(node), parameters, (error, stdout, stderr) => resolve([error?.code, stdout, stderr])),
    )
    const sentence = `plant-store: Node.js ${version}\\.[.\\d]+ is not supported: install a version in the range \\^22\\.\\S+ \\|\\| >=24\\.\\S+\n`
    expect(result).toEqual([2, '', expect.stringMatching(new RegExp(`^${sentence}$`))])
  })
}

test('without a SQLite for the processor, the error names package, platform and fix', async () => {
  const pretend = 'data:text/javascript,Object.defineProperty(process,%22arch%22,{value:%22riscv64%22})'
  const environment = { DATABASE_URL: temporaryDatabase().url, NODE_OPTIONS: `--import=${pretend}` }
  const { exitCode, stderr } = await runCommand(['migrate'], environment)
  expect(stderr).toMatch(/^plant-store: the package better-sqlite3 has no SQLite that runs on linux riscv64: .+\n$/)
  expect(exitCode).toBe(1)
})
