/** How the engine finds the plants of an operation: by an index, and only those of the account. */
import { DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import pg from 'pg'
import { expect, onTestFinished, test, vi } from 'vitest'
import { engine } from '../../../test/helpers/database/databases.ts'
import { FICUS, operations } from '../../../test/helpers/operations.ts'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'

/** A statement that was sent to the engine; of SQLite, without its values. */
interface Sent {
  readonly sql: string
  readonly values: unknown[]
}

const { databaseUrl, createToken, call } = await startTestServer()

/** Records what is sent to the engine, and returns what takes the statements on plants that were sent since the last time. */
function recordStatements(): () => Sent[] {
  // Whoever writes a statement, one of these sends it: for SQLite's two threads, and to PostgreSQL.
  const spies = [
    vi.spyOn(DatabaseSync.prototype, 'prepare'),
    vi.spyOn(Worker.prototype, 'postMessage'),
    vi.spyOn(pg.Client.prototype, 'query'),
  ]
  onTestFinished(() => {
    for (const spy of spies) spy.mockRestore()
  })
  return () => {
    const calls = spies.flatMap(({ mock }) => (mock.calls as unknown[][]).splice(0))
    const sent = calls.map(([first]): Sent => {
      if (typeof first === 'string') return { sql: first, values: [] }
      const { args, text = args?.[0], values = [] } = first as { args?: unknown[]; text?: unknown; values?: unknown[] }
      return { sql: String(text), values }
    })
    return sent.filter(({ sql }) => /["`]Plant["`]/.test(sql))
  }
}

/** Returns the steps that read plants, as SQLite plans a statement. */
function explainOnSqlite({ sql }: Sent): string[] {
  const database = new DatabaseSync(databaseUrl.replace('file:', ''), { readOnly: true })
  const rows = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all()
  database.close()
  // The table, or what the statement calls it.
  const aliases = [...sql.matchAll(/["`]Plant["`](?: AS)? ["`]?(\w+)/gi)].map(([, alias]) => alias)
  const isRead = new RegExp(`^(SCAN|SEARCH) (main\\.)?(${['Plant', ...aliases].join('|')})\\b`)
  return rows.map(({ detail }) => String(detail).replace('rowid', 'seq')).filter((step) => isRead.test(step))
}

/** Without plants, PostgreSQL would read all of the table. As in the sessions of a server, it sorts nothing. */
const INDEXES_ONLY = ['seqscan', 'bitmapscan', 'sort', 'incremental_sort']
  .map((each) => `SET enable_${each} = off`)
  .join(';')

/** A step of a plan of PostgreSQL. */
type Plan = Readonly<Record<string, unknown>> & { readonly Plans?: readonly Plan[] }

/** Returns the steps that read plants, as PostgreSQL plans a statement where an index can serve it. */
async function explainOnPostgresql({ sql, values }: Sent): Promise<string[]> {
  const client = new pg.Client(databaseUrl)
  await client.connect()
  await client.query(INDEXES_ONLY)
  const { rows } = await client.query(`EXPLAIN (FORMAT JSON) ${sql}`, values).finally(() => client.end())
  const list = ({ Plans = [], 'Node Type': type, 'Relation Name': table, ...plan }: Plan): string[] => {
    const own = [type, plan['Index Name'], plan['Index Cond']].filter(Boolean).join(' ')
    return [...(table === 'Plant' && own.includes('Scan') ? [own] : []), ...Plans.flatMap(list)]
  }
  return list(rows[0]['QUERY PLAN'][0].Plan)
}

const ADD_INDEX = 'add an index on both to prisma/migrations and prisma/postgresql/migrations, as CONTRIBUTING.md shows'

/** Says what is wrong with how plants are found; undefined: nothing. */
function findFault(sql: string, steps: string[]): string | undefined {
  // An index on "account", or the one plant with a "seq".
  const scan = steps.find((step) => !/\baccount\b|\bseq ?=/.test(step))
  if (scan) return `reads plants of all accounts (${scan}): compare "account", and, with another column, ${ADD_INDEX}`
  const [, condition = ''] = /\bWHERE\b(.*)/s.exec(sql.replace(/\bON CONFLICT\b.*/s, '')) ?? []
  const compared = [...condition.matchAll(/["`](\w+)["`] = /g)].map(([, column]) => column)
  const missing = compared.find((column) => !steps.some((step) => new RegExp(`\\b${column}\\b`).test(step)))
  return missing && `looks for "${missing}" in all plants of an "account" (${steps.join(', ')}): ${ADD_INDEX}`
}

test('every statement of an operation is constant, and finds plants by an index, those of the account only', async () => {
  const takeSent = recordStatements()
  const statements = new Map<string, Sent & { name: string }>()
  for (const { name, requests } of operations) {
    for (const { request, body, first } of requests) {
      const account = crypto.randomUUID()
      const { token } = await createToken({ account })
      for (const [line, text] of [...first, [request, body] as const]) {
        const [method = '', target = ''] = line.split(' ')
        const headers = { 'content-type': 'application/json' }
        await call(target, { method, headers, token, ...(text && { body: text }) })
      }
      for (const sent of takeSent()) {
        const value = [account, FICUS.name, String(FICUS.id)].find((each) => sent.sql.includes(each))
        if (value) expect.fail(`${name} has the value ${value} in the text of a statement: pass it as $1\n${sent.sql}`)
        if (!statements.has(sent.sql)) statements.set(sent.sql, { name, ...sent })
      }
    }
  }
  // At least to insert and to compare, and the version of a list and a piece of it.
  expect(statements.size).toBeGreaterThanOrEqual(4)
  for (const { name, ...sent } of statements.values()) {
    const steps = await (engine === 'sqlite' ? explainOnSqlite(sent) : explainOnPostgresql(sent))
    const fault = findFault(sent.sql, steps)
    if (fault) expect.fail(`${name} ${fault}\n${sent.sql}`)
  }
})
