/** Which of the nightly tests .ci/run chooses. */
import { spawnSync } from 'node:child_process'
import { appendFileSync, cpSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { root } from './helpers/programs.ts'
import { temporaryFolder } from './helpers/temporary.ts'

const { all, tests }: { all: string[]; tests: Record<string, string[]> } = JSON.parse(
  readFileSync(`${root}.ci/nightly.json`, 'utf8'),
)
const names = Object.keys(tests)
const [IMAGE, GUIDE, MACHINES] = names.filter((name) => /image|guide|several/.test(name)) as [string, string, string]

test('every nightly test and every path that it covers exists', () => {
  const paths = [...names, ...all, ...Object.values(tests).flat()]
  // Each path on its own, in one process: git names those that match nothing.
  const list = ['ls-files', '--error-unmatch', '--', ...paths]
  expect(spawnSync('git', list, { cwd: root, encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' })
})

test.each<[file: string, chosen: string[], reason: string, passed?: string]>([
  ['README.md', [], `${IMAGE} is left out: no change of ${IMAGE}`],
  ['Dockerfile', [IMAGE], `${IMAGE} runs: Dockerfile has changed`],
  // In a folder and by a pattern.
  ['docs/production/new.env', [GUIDE], 'docs/production/new.env has changed'],
  ['docs/production/my-nginx.conf', [GUIDE, MACHINES], 'docs/production/my-nginx.conf'],
  // All cover it.
  ['pnpm-lock.yaml', names, 'pnpm-lock.yaml has changed'],
  ['README.md', names, 'All nightly tests run: .ci/nightly-passed has no commit that this clone has', '1'.repeat(40)],
])('after a change of %s, .ci/run runs what covers it', (file, chosen, reason, passed) => {
  const cwd = temporaryFolder()
  const run = (program: string, ...parameters: string[]) => spawnSync(program, parameters, { cwd, encoding: 'utf8' })
  run('git', 'clone', '--quiet', '--shared', root, '.')
  cpSync(`${root}.ci`, `${cwd}/.ci`, { recursive: true })
  writeFileSync(`${cwd}/.ci/nightly-passed`, passed ?? run('git', 'rev-parse', 'HEAD').stdout)
  appendFileSync(path.join(cwd, file), 'changed')
  const { stdout, stderr } = run('node', '.ci/choose.mjs')
  expect(stdout.trim()).toBe(chosen.join(' '))
  expect(stderr).toContain(reason)
})
