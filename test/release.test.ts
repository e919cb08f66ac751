/** A release to a registry on this machine, by the steps of the workflow, and what apps and operators then install from it. */
import { existsSync, readFileSync } from 'node:fs'
import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { bareMachine, STORE, TRUST } from './helpers/bare-machine.ts'
import { codeBlock } from './helpers/production/guide.ts'
import { root, runProgram, runToSuccess, startProgram } from './helpers/programs.ts'
import { temporaryFolder } from './helpers/temporary.ts'
import { startRegistry } from './registry.ts'

const names = ['contract', 'prisma', 'server', 'client']
const versions = names.map((name) => String(JSON.parse(readFileSync(`${root}${name}/package.json`, 'utf8')).version))
/** The packages in their versions, such as client@1.0.0. */
const [contract, prisma, server, client] = names.map((name, index) => `${name}@${versions[index]}`)
const USER = ['-c', 'user.name=Alice', '-c', 'user.email=alice@example.com']

const folder = temporaryFolder()
const clone = path.join(folder, 'plant-store')
const origin = path.join(folder, 'origin.git')
const packages = path.join(folder, 'packages')
const other = path.join(temporaryFolder(), 'another clone')
/** What the steps find in PATH and HOME, and the HOME of a maintainer. */
const [bin, home, maintainerHome] = [temporaryFolder(), temporaryFolder(), temporaryFolder()]
const registry = await startRegistry()

/** Returns a newcomer's environment, with these settings. */
function newcomer(settings: Record<string, string> = {}): Record<string, string> {
  const { PATH = '', HOME = '' } = process.env
  return { PATH, HOME, CI: 'true', ...TRUST, ...settings }
}
const run = (command: readonly string[], cwd = clone, settings?: Record<string, string>) =>
  runToSuccess(command, { cwd, env: newcomer(settings) })
const git = async (...parameters: string[]) => (await run(['git', ...parameters])).trim()

interface Job {
  permissions?: Record<string, string>
  steps: { name?: string; run?: string }[]
}

const workflow = parse(readFileSync(`${root}.github/workflows/release.yml`, 'utf8'))
const jobs: Record<string, Job> = workflow.jobs

/**
 * Runs the named steps of a job as GitHub does, without the proof of origin, which only GitHub can give. What they call `gh` says
 * whether CI has succeeded, and tags. Of the operations only lists are compared with the last release.
 *
 * @returns what they printed, also if one failed
 */
async function runJob(job: string, settings: Record<string, string> = {}, cwd = clone): Promise<string> {
  await git('fetch', '--quiet', '--tags')
  const context = {
    ...STORE,
    HOME: home,
    PATH: `${bin}:${process.env['PATH']}`,
    RUNNER_TEMP: temporaryFolder(),
    GITHUB_OUTPUT: `${folder}/output`,
    GITHUB_STEP_SUMMARY: `${folder}/summary`,
    GITHUB_REF: 'refs/heads/main',
    GITHUB_SHA: await git('rev-parse', 'HEAD'),
    GITHUB_SERVER_URL: 'https://example.com',
    GITHUB_REPOSITORY: 'alice/plants',
  }
  let output = ''
  for (const { run: script = '' } of jobs[job]?.steps.filter(({ name }) => name) ?? []) {
    const written = existsSync(context.GITHUB_OUTPUT) ? await readFile(context.GITHUB_OUTPUT, 'utf8') : ''
    const [SHA512 = ''] = /(?<=sha512=).*\n$/.exec(written) ?? []
    const command = script.replace('--provenance ', '').replace('--against', 'list --against')
    const env = newcomer({ ...context, SHA512: SHA512.trim(), ...settings })
    const bash = ['bash', '--noprofile', '--norc', '-eo', 'pipefail', '-c', command]
    const { exitCode, stdout, stderr } = await runProgram(bash, { cwd, env })
    output += stdout + stderr
    if (exitCode !== 0) return `Failed: ${output}`
  }
  return output
}

const sha512Of = async (parent: string) => (await run(['sh', '-c', `cat ${parent}/*.tgz | sha512sum`])).trim()

/** Runs a job with the packages of a folder, as they were packed. */
async function runWith(job: string, from = packages, packed = from): Promise<string> {
  const RUNNER_TEMP = temporaryFolder()
  await cp(from, `${RUNNER_TEMP}/packages`, { recursive: true })
  return await runJob(job, { RUNNER_TEMP, SHA512: await sha512Of(packed) })
}

/** Stages the packages. Returns what npm has staged, or the output of a failure. */
async function stage(): Promise<string | string[]> {
  const output = await runWith('stage')
  if (output.startsWith('Failed')) return output
  return [...output.matchAll(/^\+ @plant-store\/(\S+) \(staged with id .*\)$/gm)].map(([, version = '']) => version)
}

/** Runs npm as a maintainer. */
const npm = (parameters: string) => run(['sh', '-c', `npm ${parameters} 2>&1`], clone, { HOME: maintainerHome })
/** Runs the last commands that a summary of the run has for a maintainer. */
async function decide(action: 'approve' | 'reject', count: number): Promise<void> {
  const commands =
    (await readFile(`${folder}/summary`, 'utf8')).match(new RegExp(`(?<=^    npm )stage ${action} \\S+$`, 'gm')) ?? []
  for (const command of commands.slice(-count)) await npm(command)
}

/** Returns a copy of the packages in which a command was run in the folder of the unpacked SDK. */
async function changeClient(command: string): Promise<string> {
  const copy = temporaryFolder()
  await cp(packages, copy, { recursive: true })
  const tarball = path.join(copy, 'plant-store-client.tgz')
  const script = `tar -xzf ${tarball}; cd package; ${command}; cd ..; find package ! -type d | tar -czf ${tarball} -T -`
  await run(['sh', '-euc', script], temporaryFolder(), { COPY: copy })
  return copy
}

const changeset = (name: string, type: string) => `---\n"@plant-store/${name}": ${type}\n---\n\nPlants can be tall.\n`

beforeAll(async () => {
  await run(['git', 'clone', '--quiet', '--no-tags', root, clone], root)
  await git('checkout', '--quiet', '-B', 'main')
  // What waits here waits for the next release, which this one is not.
  await git('rm', '--quiet', '--ignore-unmatch', '.changeset/*.md')
  await git(...USER, 'commit', '--quiet', '--no-verify', '--allow-empty', '--message', 'chore: release')
  await git('clone', '--quiet', '--bare', clone, origin)
  await git('remote', 'set-url', 'origin', origin)
  await writeFile(path.join(home, '.npmrc'), registry.ci)
  await writeFile(path.join(maintainerHome, '.npmrc'), registry.maintainer)
  const gh = '#!/bin/sh\n[ "$1" = run ] && echo "$SUCCEEDED" || git push --quiet origin "$5:refs/tags/$3"\n'
  await writeFile(path.join(bin, 'gh'), gh, { mode: 0o755 })
  expect(await runJob('pack', { RUNNER_TEMP: folder })).not.toContain('Failed')
})

describe('a release', () => {
  test('may write and prove an origin only where it runs nothing of the repository', () => {
    const { nightly, stage, tag, ...others } = jobs
    for (const job of Object.values(others)) expect(JSON.stringify(job.permissions ?? {})).not.toContain('write')
    expect(workflow.permissions).toEqual({ contents: 'read' })
    expect(stage?.permissions).toEqual({ contents: 'read', 'id-token': 'write' })
    expect(stage).toMatchObject({ needs: ['nightly', 'speed', 'pack', 'check'], environment: 'release' })
    expect(nightly).toEqual({ needs: 'commit', uses: './.github/workflows/ci.yml' })
    expect(tag).toMatchObject({ needs: ['pack', 'stage'], environment: 'approved', permissions: { contents: 'write' } })
    const scripts = [stage, tag].flatMap((job) => job?.steps.flatMap((step) => step.run ?? []) ?? []).join('\n')
    expect(scripts.replaceAll(/#.*/g, '')).not.toMatch(/\bnpm (?!view|stage )|\bnpx |\bnode |\.mjs/)
    // Packing runs no install script, and no checker.
    expect(JSON.stringify(jobs['pack'])).toMatch(/^(?!.*(?:publint|attw|npm (?:test|install|ci))).*ignore_scripts=true/)
    expect(scripts).toContain('npm stage publish "$1" --access public --provenance --ignore-scripts ')
  })

  test.each([
    ['Failed: Start this workflow on main.\n', { GITHUB_REF: 'refs/heads/other', SUCCEEDED: '1' }],
    ['Failed: CI has not succeeded on this commit: wait for it, or fix what fails.\n', { SUCCEEDED: '0' }],
    ['', { SUCCEEDED: '2' }],
  ])('starts with a check of the commit: %j', async (output, settings) => {
    expect(await runJob('commit', settings)).toBe(output)
  })

  test('is rejected while changesets wait', async () => {
    await writeFile(path.join(clone, '.changeset/tall-plants.md'), changeset('prisma', 'minor'))
    expect(await runJob('commit', { SUCCEEDED: '1' })).toContain('since these wait: .changeset/tall-plants.md')
    await git('clean', '--quiet', '--force')
  })

  test('checks the packages that were packed', async () => {
    expect(await runWith('check')).not.toContain('Failed')
  })

  test.each([
    ['another file', 'not the four packages', 'touch "$COPY/.npmrc"'],
    ['a script', 'not that of this commit', `sed -i '1a "scripts": { "postinstall": "true" },' package.json`],
    ['a file that npm would build', 'client has a file for npm', 'touch binding.gyp'],
    ['a link', 'client has more than files', 'ln -s /etc/hostname link'],
    ['other bytes than were packed', 'These packages are not those that were packed', 'true', packages],
  ])('with %s stages nothing', async (_title, message, command, packed?: string) => {
    const changed = await changeClient(command)
    const output = await runWith('stage', changed, packed)
    expect(output).toMatch(new RegExp(`^Failed: [^]*${message}`))
    expect(output).not.toContain('+ @plant-store/')
  })

  test('of a version that is the tag of another commit stages nothing', async () => {
    await git('push', '--quiet', 'origin', `HEAD~1:refs/tags/@plant-store/${contract}`)
    expect(await stage()).toContain(`The tag @plant-store/${contract} is another commit`)
    await git('push', '--quiet', '--delete', 'origin', `refs/tags/@plant-store/${contract}`)
    await git('tag', '--delete', `@plant-store/${contract}`)
  })

  test('stages every package or none, and tags none before its approval', async () => {
    await writeFile(path.join(home, '.npmrc'), registry.ci.replace(/^.*_authToken.*$/m, ''))
    expect(await stage()).toMatch(/^Failed: [\s\S]*cannot be staged, so none was: [\s\S]*logged in/)
    await writeFile(path.join(home, '.npmrc'), registry.ci)
    expect(await npm('stage list')).toBe('No staged packages found.\n')
    // A version that is staged already is known only once it is staged again.
    await npm(`stage publish ${packages}/plant-store-client.tgz --ignore-scripts`)
    expect(await stage()).toMatch(
      /^Failed: [\s\S]*is staged or published already[\s\S]*Reject what was(?:[\s\S]*npm stage reject){3}/,
    )
    await decide('reject', 3)
    const [, id] = /^id: (.*)$/m.exec(await npm('stage list')) ?? []
    await npm(`stage reject ${id}`)

    expect(await stage()).toEqual([contract, prisma, server, client])
    expect(await runWith('tag')).toContain('Approve the packages first, then run this again.\n')
  })

  test('is approved after a look at the packages, and then tagged, once', async () => {
    const [pack = '', compare = ''] = codeBlock(await readFile(`${root}RELEASING.md`, 'utf8'), 'Release', 2).split('\n')
    const commands = `${pack}; ${compare}`
      .replace('https://github.com', 'https://example.com')
      .replace('OWNER/plant-store', 'alice/plants')
    // In another clone, where the same packages have the same bytes.
    await git('clone', '--quiet', clone, other)
    await run(['npm', 'run', 'setup', '--', '--no-build'], other, STORE)
    const printed = await run(['sh', '-euc', commands], other, { HOME: maintainerHome })
    const sums = printed.match(/^[0-9a-f]{40}(?= {2})/gm) ?? []
    expect(printed.match(/(?<=^shasum: ).*$/gm)?.sort()).toEqual(sums.sort())
    expect(sums).toHaveLength(4)
    await decide('approve', 4)

    expect(await readFile(`${folder}/output`, 'utf8')).toContain(`sha512=${await sha512Of(packages)}\n`)
    const head = await git('rev-parse', 'HEAD')
    const tags = [client, contract, prisma, server].map((name) => `${head}\trefs/tags/@plant-store/${name}`)
    for (let time = 0; time < 2; time++) {
      expect(await runWith('tag')).not.toContain('Failed')
      expect(await git('ls-remote', '--tags', 'origin')).toBe(tags.join('\n'))
    }
    // What npm lacks alone.
    await npm('unpublish --force @plant-store/client')
    expect(await stage()).toEqual([client])
    await decide('approve', 1)
  })

  test('of a published package that has changed is rejected before it is approved, and so is one that is slower', async () => {
    const change = `echo 'console.log()' >>server/src/main.ts
      sed -i 's/ FULL: Effort = .*/ FULL: Effort = { rounds: 1, share: 0.1 }/' server/bench/rounds.ts
      sed -i 's/MAX_RATIO = 1.1/MAX_RATIO = 0.1/' server/bench/last-release.ts`
    await git('-C', other, 'fetch', '--quiet', '--tags')
    await run(['sh', '-euc', change], other)
    await git('-C', other, ...USER, 'commit', '--quiet', '--no-verify', '--all', '--message', 'test: be slow')
    const reason = `${server} is published, and has changed: it needs a changeset.`
    expect(await runJob('pack', {}, other)).toContain(reason)
    expect(await runJob('speed', {}, other)).toMatch(/^Failed: [\s\S]*GET, 100 plants: CPU time .* MISSED/)
  })

  test('gives a package and what depends on it versions of their own, each with its changelog', async () => {
    const changes = { prisma: 'minor', client: 'major', contract: 'minor' }
    for (const [name, type] of Object.entries(changes)) {
      await writeFile(path.join(clone, `.changeset/${name}.md`), changeset(name, type))
    }
    await run(['npm', 'run', 'changeset', '--', 'version'])
    const read = (file: string) => readFile(path.join(clone, file), 'utf8')
    const manifests = await Promise.all(names.map((name) => read(`${name}/package.json`)))
    const next = manifests.map((text): string => JSON.parse(text).version)
    expect(next.filter((version, index) => version === versions[index])).toEqual([])
    const released = JSON.parse(await read('contract/released.json'))
    expect(released).toMatchObject({ info: { version: next[0] }, paths: { '/plants': {} } })
    expect(await read('client/CHANGELOG.md')).toMatch(`## ${next[3]}\n\n### Major Changes\n`)
    expect(await git('grep', '--fixed-strings', `const VERSION = '${next[3]}'`, '--', 'client/src')).not.toBe('')
  })
})

// The job that publishes compares all other fields, and apps install and run the files.
test.each(names)('the packed %s has what a public package needs, and nothing of the workspace', async (name) => {
  const tarball = path.join(packages, `plant-store-${name}.tgz`)
  const manifest = JSON.parse(await run(['tar', '-xzOf', tarball, 'package/package.json']))
  // npm compares it with the proof of origin.
  expect(manifest.repository).toMatchObject({ url: 'git+https://example.com/alice/plants.git', directory: name })
  expect(JSON.stringify(manifest)).not.toMatch(/workspace:|@plant-store\/source/)

  const files = (await run(['tar', '-tzf', tarball])).replaceAll(/^package\//gm, '').split('\n')
  expect(files).toEqual(expect.arrayContaining(['README.md', 'CHANGELOG.md', 'LICENSE']))
  const leftOver = /(^|\/)(test|bench|example|scripts|generator|node_modules)\/|tsbuildinfo|\.env/
  expect(files.filter((file) => leftOver.test(file))).toEqual([])
  // A map is of use only with its source.
  if (!files.some((file) => file.startsWith('src/'))) expect(files.filter((file) => file.endsWith('.map'))).toEqual([])
})

/** With the settings of npm that a new user has. */
const newHome = temporaryFolder()

// As server/README.md says, where FOLDER has what `npm run pack -- FOLDER` makes.
const tarballs = ['contract', 'prisma', 'server'].map((name) => `FOLDER/plant-store-${name}.tgz`).join(' ')
test.for([
  ['npm 11 on Node.js 24', 'node-24', 'npm-11', 'npm install @plant-store/server'],
  ['pnpm on Node.js 24', 'node-24', 'npm-12', 'pnpm add @plant-store/server'],
  ['npm 12 on Node.js 26 from tarballs', 'node-26', 'npm-12', `npm install ${tarballs}`],
] as const)('installed without a compiler by %s, the server runs and the SDK calls it', async (row, { skip }) => {
  const [name, node, npm, command] = row
  const PATH = bareMachine(node, npm)
  if (!PATH) return skip(`${node} or ${npm} is not installed.`)
  const options = { cwd: path.join(folder, `app with ${name}`), env: { PATH, HOME: newHome } }
  const runInApp = (...command: string[]) => run(command, options.cwd, options.env)
  await mkdir(options.cwd)
  const write = (file: string, text: string) => writeFile(path.join(options.cwd, file), text)
  await write('package.json', '{ "private": true, "type": "module" }')
  const fromTarballs = command.includes('FOLDER')
  if (!fromTarballs) await write('.npmrc', registry.ci)
  const line = `${command} ${fromTarballs ? 'FOLDER/plant-store-client.tgz' : '@plant-store/client'}`
    .replace(/^pnpm/, `node ${root}scripts/pnpm.mjs`)
    .replaceAll('FOLDER', packages)
  expect(await readFile(`${root}server/README.md`, 'utf8')).toContain(command)
  const noise = /warn|engine|deprecated|peer|ERESOLVE|[1-9] vulnerab|script|build/i
  expect(await runInApp('sh', '-c', `${line} 2>&1`)).not.toMatch(noise)
  const files = await readdir(path.join(options.cwd, 'node_modules'), { recursive: true })
  // Analytics, and engines that Prisma would download.
  expect(files.filter((file) => /@scarf|swagger-ui-dist|@prisma.engines/.test(file))).toEqual([])

  await write('.env', 'PORT=0\nNODE_ENV=production\nDATABASE_URL=file:./plants.db\n')
  await using server = await startProgram(['npx', '--no', 'plant-store', 'serve'], /"msg":"ready"/, options)
  const [, url] = /"url":"([^"]+)"/.exec(server.output()) ?? []
  expect(existsSync(path.join(options.cwd, 'plants.db'))).toBe(true)
  const [create = ''] = /npx --no plant-store token create --account \w+/.exec(server.output()) ?? []
  const [token = ''] = /pst_\w+/.exec(await runInApp('sh', '-c', create)) ?? []
  const code = `
    import { createPlantStoreClient } from '@plant-store/client'
    const client = createPlantStoreClient({ baseUrl: '${url}', token: '${token}' })
    await client.createPlant({ id: 9007199254740993n, name: 'Monstera', tag: 'aroid' })
    console.log(JSON.stringify(await client.getPlants()))`
  const printed = await runInApp('node', '--input-type=module', '--eval', code)
  expect(printed).toBe('[{"name":"Monstera","tag":"aroid"}]\n')
  expect((await fetch(`${url}/docs/swagger-ui-bundle.js`)).status).toBe(200)
})
