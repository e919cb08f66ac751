/**
 * Changes one place of the sources at a time and runs the tests that reach it: what no test notices is a gap in the tests, or
 * code that is not needed. It changes a copy of the last commit, in the folder of temporary files.
 */
import { spawn } from 'node:child_process'
import { hash, randomInt } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseAst } from 'vitest/node'
import { fail, root, run, start } from './run.mjs'

/**
 * What `vitest run` gets for a folder of sources: first what takes seconds, then more and more of what reaches it, at last
 * with the long tests.
 */
const TESTS = {
  'contract/src/': ['contract/test/ server/test/requests/bodies', 'client/test/service/ test/operations/'],
  'prisma/src/postgresql/': [
    'prisma/test/database/ prisma/test/orders/pool prisma/test/postgresql/',
    'prisma/test/promises server/test/plants/ server/test/storage/postgresql',
  ],
  'prisma/src/': [
    '--project=sqlite prisma/test/database/ prisma/test/sqlite/',
    'prisma/test/migration/mi prisma/test/orders/ prisma/test/promises prisma/test/postgresql/conn server/test/plants/',
    '--project=sqlite server/test/storage/',
  ],
  'server/src/': [
    '--project=sqlite server/test/plants/ server/test/requests/',
    '--project=sqlite server/test/accounts/ server/test/docs/ server/test/orders/ server/test/telemetry/',
    '--project=sqlite client/test/service/ server/test/overload/ server/test/startup',
  ],
}
/** How long each may take, in milliseconds: a mutant with which it takes longer counts as killed. */
const LIMIT = 150_000
/** Beside the files that the architecture says to read first. */
const ALSO = ['server/src/connections/waiting-requests.ts', 'prisma/src/postgresql/pool.ts']
const FOLDERS = ['', 'server/src/', 'prisma/src/', 'prisma/src/sqlite/']
const OPERATORS = { '<': '<=', '<=': '<', '>': '>=', '>=': '>', '===': '!==', '!==': '===', '&&': '||', '||': '&&' }
const TYPE = /^TS(?!As|NonNull|Satisfies)/

const [count = 100, seed = randomInt(1e6)] = process.argv.slice(2).map(Number)
if (!(count > 0) || !Number.isInteger(seed)) fail('Usage: npm run mutants -- COUNT [SEED]')
const copy = path.join(tmpdir(), `mutants-${process.pid}/`)
let stop = () => {}
process.once('exit', () => {
  stop()
  start('git', ['worktree', 'remove', '--force', copy])
})
for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
run('git', ['worktree', 'add', '--quiet', '--detach', copy])
await succeeds('npm', ['run', '--silent', 'setup'])
for (const tests of Object.values(TESTS).flat())
  if (!(await passes(tests, true))) fail(`Without a mutant, these tests fail: ${tests}`)

const rank = (mutant) => hash('sha256', `${seed} ${JSON.stringify(mutant)}`)
const mutants = readingOrder().flatMap((file) => [...mutantsOf(file)])
mutants.sort((one, other) => (rank(one) < rank(other) ? -1 : 1))
let made = 0
let killed = 0
console.log(`Seed ${seed}: ${count} of ${mutants.length} mutants.`)
for (const { file, from, to, after } of mutants) {
  if (made === count) break
  const source = readFileSync(copy + file, 'utf8')
  writeFileSync(copy + file, source.slice(0, from) + after + source.slice(to))
  if (await succeeds('node_modules/.bin/tsc', [])) {
    let isAlive = true
    const stages = TESTS[Object.keys(TESTS).find((folder) => file.startsWith(folder))]
    for (const tests of stages) isAlive &&= await passes(tests, tests === stages.at(-1))
    made += 1
    process.stderr.write('.')
    if (isAlive) {
      const line = source.slice(0, from).split('\n').length
      console.log(`${file}:${line}: ${oneLine(source.slice(from, to))} -> ${oneLine(after)}`)
    } else killed += 1
  }
  writeFileSync(copy + file, source)
}
console.log(`Seed ${seed}: ${killed} of ${made} killed, ${Math.round((killed / made) * 100)} %.`)
process.exit()

function readingOrder() {
  const [, section] = readFileSync(`${root}docs/architecture.md`, 'utf8').split(/^## /m)
  const names = [...section.matchAll(/`([\w/-]+\.ts)`/g)].map(([, name]) => name).concat(ALSO)
  const files = names.map((name) => FOLDERS.map((folder) => folder + name).find((file) => existsSync(root + file)))
  return [...new Set(files)].filter((file) => file && !file.startsWith('client/'))
}

function mutantsOf(file) {
  const source = readFileSync(copy + file, 'utf8')
  const textOf = ({ start: from, end: to }) => source.slice(from, to)
  const replace = ({ start: from, end: to }, after) => ({ file, from, to, after })
  const awaits = (node) => /^(Expression|Variable)/.test(node?.type) && textOf(node).includes('await ')
  return walk(parseAst(source, { lang: 'ts' }))

  function* walk(node) {
    const { type, test, left, right, operator, value } = node
    const statements = [node.body, node.consequent].find(Array.isArray) ?? []
    if (test && type !== 'SwitchCase' && !/^[!=]==$/.test(test.operator)) yield replace(test, `!(${textOf(test)})`)
    if (operator in OPERATORS) yield replace({ start: left.end, end: right.start }, ` ${OPERATORS[operator]} `)
    if (type === 'AwaitExpression') yield replace(node, textOf(node.argument))
    if (typeof value === 'boolean') yield replace(node, String(!value))
    if (typeof value === 'bigint') yield replace(node, `${value + 1n}n`)
    if (typeof value === 'number') yield replace(node, String(value < 10 ? value + 1 : value * 10))
    for (const [index, statement] of statements.entries()) {
      const next = statements[index + 1]
      if (!/Declaration$/.test(statement.type)) yield replace(statement, ';')
      if (type !== 'Program' && textOf(statement) !== 'return')
        yield replace({ ...statement, end: statement.start }, 'return; ')
      if (awaits(statement) && awaits(next))
        yield replace({ start: statement.start, end: next.end }, [next, statement].map(textOf).join('\n'))
    }
    for (const child of Object.values(node).flat()) if (child?.type && !TYPE.test(child.type)) yield* walk(child)
  }
}

/** Hooks and tests that hang because of a mutant end long before the limits that a busy machine needs. */
function passes(tests, isLong) {
  const limited = ['--bail=1', '--max-workers=2', '--test-timeout=60000', '--hook-timeout=60000', ...tests.split(' ')]
  return succeeds('node_modules/.bin/vitest', ['run', ...limited], isLong && { PLANT_STORE_LONG_TESTS: '1' })
}

/** Says whether a program ends with 0 in the copy, in time. What it has started ends with it. */
async function succeeds(program, parameters, more) {
  const env = { ...process.env, ...more }
  const child = spawn(program, parameters, { cwd: copy, env, stdio: 'ignore', detached: true })
  stop = () => process.kill(-child.pid, 'SIGKILL')
  const timer = setTimeout(stop, LIMIT)
  const [code] = await once(child, 'exit')
  clearTimeout(timer)
  stop = () => {}
  return code === 0
}

function oneLine(text) {
  return text.replace(/\s+/g, ' ').slice(0, 90) || '(nothing)'
}
