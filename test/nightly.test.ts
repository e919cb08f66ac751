/** Which of the nightly tests .ci/run chooses. */
import { execFileSync, spawnSync } from 'node:child_process'
import { appendFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
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

/** Creates a repository with the files that tests cover, and a record of its first commit. */
function createRepository() {
  const folder = temporaryFolder()
  const user = ['-c', 'user.name=Alice', '-c', 'user.email=alice@example.com']
  const git = (...parameters: string[]) => {
    return execFileSync('git', [...user, ...parameters], { cwd: folder, encoding: 'utf8' }).trim()
  }
  cpSync(`${root}.ci`, `${folder}/.ci`, { recursive: true })
  mkdirSync(`${folder}/docs/production`, { recursive: true })
  for (const file of ['Dockerfile', 'pnpm-lock.yaml', 'README.md', 'docs/production/README.md'])
    writeFileSync(path.join(folder, file), '')
  const commit = () => git('add', '--all') + git('commit', '--quiet', '--message', 'test: change a file')
  git('init', '--quiet')
  commit()
  const record = (hash: string) => writeFileSync(`${folder}/.ci/nightly-passed`, `${hash}\n`)
  record(git('rev-parse', 'HEAD'))
  return { folder, record, commit }
}

type Change = (repository: ReturnType<typeof createRepository>) => void
const append =
  (file: string): Change =>
  ({ folder }) =>
    appendFileSync(path.join(folder, file), 'changed')

test.each<[what: string, chosen: string[], reason: string, change: Change]>([
  ['nothing has changed', [], `${IMAGE} is left out: no change of ${IMAGE}, .dockerignore`, () => {}],
  ['nothing has changed that they cover', [], `${GUIDE} is left out`, append('README.md')],
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
  ['there is no record', names, 'All nightly tests run', ({ record }) => record('')],
])('where %s, .ci/run runs what covers it', (_what, chosen, reason, change) => {
  const repository = createRepository()
  change(repository)
  // The same once it is committed, as CI has it.
  for (const isCommitted of [false, true]) {
    if (isCommitted) repository.commit()
    const { stdout, stderr } = spawnSync('node', ['.ci/choose.mjs'], { cwd: repository.folder, encoding: 'utf8' })
    expect(stdout.trim()).toBe(chosen.join(' '))
    expect(stderr).toContain(reason)
  }
})
