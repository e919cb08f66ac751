import { spawn } from 'node:child_process'
import { get } from 'node:http'
import { type Contender, pinned, startContender } from './contender.ts'
import { createDatabase } from './database.ts'
import { median, type Scenario } from './rounds.ts'

const PLANTS = 1_000_000
const ROUNDS = 3
const MEBIBYTE = 2 ** 20
const MEMORY_INTERVAL = 10

const QUERY = `SELECT "name", "tag" FROM "Plant" WHERE "account" = 'bench' ORDER BY "seq"`

/** A list of a million plants: its time against `sqlite3 -json` writing the same rows, its first byte, its memory. */
export const listMillion: Scenario = async (progress) => {
  const database = await createDatabase(PLANTS, progress)
  const server = await startContender('plant-store', database.token, { DATABASE_URL: database.url })
  try {
    await readList(server, '?limit=1')
    const idle = server.memory()
    const shell: number[] = []
    const lists: Reading[] = []
    for (let round = 0; round <= ROUNDS; round++) {
      progress(`round ${round} of ${ROUNDS}`)
      shell.push(await timeShell(database.file))
      lists.push(await readList(server, ''))
    }
    // The first round warms up both.
    const ratio = median(lists.slice(1).map(({ total }, index) => total / (shell[index + 1] ?? Number.NaN)))
    const firstByte = median(lists.slice(1).map(({ firstByte }) => firstByte))
    const memory = (Math.max(...lists.map(({ memory }) => memory)) - idle) / MEBIBYTE
    const [list] = lists
    const seconds = `${(median(lists.map(({ total }) => total)) / 1000).toFixed(2)} s, sqlite3 ${(median(shell) / 1000).toFixed(2)} s`
    const name = 'plant-store'
    const what = 'GET, a list of a million plants: time'
    return [
      {
        what,
        name,
        value: ratio.toFixed(2),
        unit: 'x sqlite3',
        goal: '<= 1.5',
        passed: ratio <= 1.5,
        detail: `${seconds}, ${list?.bytes} bytes`,
      },
      {
        what: '  first byte',
        name,
        value: firstByte.toFixed(1),
        unit: 'ms',
        goal: '<= 100',
        passed: firstByte <= 100,
        detail: '',
      },
      {
        what: '  memory over idle',
        name,
        value: memory.toFixed(0),
        unit: 'MB',
        goal: '<= 64',
        passed: memory <= 64,
        detail: `idle ${(idle / MEBIBYTE).toFixed(0)} MB`,
      },
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
    let largest = 0
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

function timeShell(file: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const [command, args] = pinned(0, 'sqlite3', ['-json', '-readonly', file, QUERY])
    const begin = performance.now()
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    child.stdout.resume()
    child.on('error', reject).on('close', (code) => {
      if (code === 0) resolve(performance.now() - begin)
      else reject(new Error(`sqlite3 ended with ${code}; it is in the package sqlite3 of most systems`))
    })
  })
}
