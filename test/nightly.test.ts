/** Which of the nightly tests .ci/run chooses. */
import { execFileSync, spawnSync } from 'node:child_process'
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

/** Clones this repository, with a record of its last commit. */
function createRepository() {
  const folder = temporaryFolder()
  const git = (...parameters: string[]) => execFileSync('git', parameters, { cwd: folder, encoding: 'utf8' }).trim()
  git('clone', '--quiet', '--shared', root, '.')
  cpSync(`${root}.ci`, `${folder}/.ci`, { recursive: true })
  const record = (hash: string) => writeFileSync(`${folder}/.ci/nightly-passed`, `${hash}\n`)
  record(git('rev-parse', 'HEAD'))
  return { folder, record }
}

type Change = (repository: ReturnType<typeof createRepository>) => void
const append =
  (file: string): Change =>
  ({ folder }) =>
    appendFileSync(path.join(folder, file), 'changed')

test.each<[what: string, chosen: string[], reason: string, change: Change]>([
  ['nothing has changed that they cover', [], `${IMAGE} is left out: no change of ${IMAGE}`, append('README.md')],
  ['a file has changed', [IMAGE], `${IMAGE} runs: Dockerfile has changed`, append('Dockerfile')],
  ['a file of a folder is new', [GUIDE], 'docs/production/new.env has changed', append('docs/production/new.env')],
  [
    'a file of a pattern is new',
    [GUIDE, MACHINES],
    'docs/production/my-nginx.conf',
    append('docs/production/my-nginx.conf'),
  ],
  ['a file that all cover has changed', names, 'pnpm-lock.yaml has changed', append('pnpm-lock.yaml')],
  ['this clone lacks the commit', names, 'All nightly tests run', ({ record }) => record('1'.repeat(40))],
])('where %s, .ci/run runs what covers it', (_what, chosen, reason, change) => {
  const repository = createRepository()
  change(repository)
  const { stdout, stderr } = spawnSync('node', ['.ci/choose.mjs'], { cwd: repository.folder, encoding: 'utf8' })
  expect(stdout.trim()).toBe(chosen.join(' '))
  expect(stderr).toContain(reason)
})
