import { spawn } from 'node:child_process'
import { get } from 'node:http'
import { type Contender, pinned, startContender } from './contender.ts'
import { type BenchDatabase, createDatabase, type Engine } from './database.ts'
import { judge, median, type Scenario } from './rounds.ts'

const PLANTS = 1_000_000
const MEBIBYTE = 2 ** 20
const MEMORY_INTERVAL = 10

const FROM = `FROM "Plant" WHERE "account" = 'bench' ORDER BY "seq"`

/** The shell of an engine, which writes the same rows as JSON, and how much longer the server may take. */
const SHELLS = {
  sqlite: {
    goal: 1.5,
    command: 'sqlite3',
    parameters: ({ file }: BenchDatabase) => ['-json', '-readonly', file, `SELECT "name", "tag" ${FROM}`],
  },
  postgresql: {
    goal: 2,
    command: 'psql',
    parameters: ({ url }: BenchDatabase) => [
      url,
      '-c',
      `COPY (SELECT json_build_object('name', "name", 'tag', "tag") ${FROM}) TO STDOUT`,
    ],
  },
}

/** A list of a million plants: its time against that of the engine's shell, its first byte, its memory. */
export const listMillion =
  (engine: Engine): Scenario =>
  async (progress, { rounds, share }) => {
    const { goal, command } = SHELLS[engine]
    const database = await createDatabase(PLANTS * share, progress, engine)
    const server = await startContender('plant-store', database.token, { DATABASE_URL: database.url })
    try {
      await readList(server, '?limit=1')
      const idle = server.memory()
      const shell: number[] = []
      const lists: Reading[] = []
      for (let round = 0; round <= rounds; round++) {
        progress(`round ${round} of ${rounds}`)
        shell.push(await timeShell(engine, database))
        lists.push(await readList(server, ''))
      }
      // The first round warms up both.
      const ratio = median(lists.slice(1).map(({ total }, index) => total / (shell[index + 1] ?? Number.NaN)))
      const firstByte = median(lists.slice(1).map(({ firstByte }) => firstByte))
      const memory = (Math.max(...lists.map(({ memory }) => memory)) - idle) / MEBIBYTE
      const [list] = lists
      const seconds = `${(median(lists.map(({ total }) => total)) / 1000).toFixed(2)} s, ${command} ${(median(shell) / 1000).toFixed(2)} s`
      const what = `${engine === 'sqlite' ? '' : 'PostgreSQL: '}GET, a list of a million plants: time`
      const detail = `${seconds}, ${list?.bytes} bytes`
      const idleSize = `idle ${(idle / MEBIBYTE).toFixed(0)} MB`
      return [
        judge({ what, value: ratio, digits: 2, unit: `x ${command}`, max: goal, detail }),
        judge({ what: '  first byte', value: firstByte, digits: 1, unit: 'ms', max: 100 }),
        judge({ what: '  memory over idle', value: memory, digits: 0, unit: 'MB', max: 64, detail: idleSize }),
      ]
    } finally {
      await server.stop()
      await database.remove()
    }
  }

interface Reading {
  firstByte: number
  total: number
  bytes: number
  /** The largest resident memory while reading, in bytes. */
  memory: number
}

function readList({ port, token, memory }: Contender, query: string): Promise<Reading> {
  return new Promise((resolve, reject) => {
    const begin = performance.now()
    let largest = memory()
    let bytes = 0
    let firstByte = 0
    const watch = setInterval(() => {
      largest = Math.max(largest, memory())
    }, MEMORY_INTERVAL)
    const headers = { authorization: `Bearer ${token}` }
    get({ port, host: '127.0.0.1', path: `/plants${query}`, headers }, (response) => {
      response.on('data', (chunk: Buffer) => {
        firstByte ||= performance.now() - begin
        bytes += chunk.length
      })
      response.on('end', () => {
        clearInterval(watch)
        resolve({ firstByte, total: performance.now() - begin, bytes, memory: largest })
      })
    }).on('error', reject)
  })
}

function timeShell(engine: Engine, database: BenchDatabase): Promise<number> {
  const { command, parameters } = SHELLS[engine]
  return new Promise((resolve, reject) => {
    const [program, args] = pinned(0, command, parameters(database))
    const begin = performance.now()
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    child.stdout.resume()
    child.on('error', reject).on('close', (code) => {
      if (code === 0) resolve(performance.now() - begin)
      else reject(new Error(`${command} ended with ${code}; it is in a package of most systems`))
    })
  })
}
