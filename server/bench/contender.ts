import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { cpuTime } from './cpu-time.ts'

/** A server that is measured. */
export interface Contender {
  name: string
  port: number
  /** The admin port; undefined if there is none. */
  adminUrl: string | undefined
  /** A valid token; servers without authentication accept any. */
  token: string
  /** The tokens of several accounts, which take turns. Default: {@link token} alone. */
  tokens?: readonly string[]
  /** Resident memory, in bytes. */
  memory(): number
  /**
   * Asks what a module that the server loads reports at SIGUSR2: `load/report-memory.ts` the memory in use, in bytes,
   * `load/in-process.ts` the CPU time of a request, in microseconds.
   */
  report(): Promise<number>
  /** The CPU time so far, user and system, in seconds. */
  cpuTime(): number
  stop(): Promise<void>
}

const here = (file: string) => fileURLToPath(new URL(file, import.meta.url))

const SCRIPTS = {
  floor: here('contenders/floor.ts'),
  'empty-app': here('contenders/empty-app.ts'),
  'plain-sqlite': here('contenders/plain-sqlite.ts'),
  naive: here('contenders/naive.ts'),
  'plant-store': here('../dist/main.js'),
}

/** The name of a server that can be measured. */
export type ContenderName = keyof typeof SCRIPTS

/** Where Linux has the program that pins a process to a core. */
export const PIN = '/usr/bin/taskset'
export const canPin = existsSync(PIN) && availableParallelism() > 1

/** Pins the server to one core and the load to another, if the system can. */
export function pinned(core: 0 | 1, command: string, args: readonly string[]): [string, string[]] {
  return canPin ? [PIN, ['-c', String(core), command, ...args]] : [command, [...args]]
}

/** Starts a server as users do and waits until it is ready. The script is that of another release, if any. */
export async function startContender(
  name: ContenderName | 'last-release',
  token: string,
  environment: Record<string, string>,
  script = name === 'last-release' ? '' : SCRIPTS[name],
): Promise<Contender> {
  const args = [script, ...(script.endsWith('main.js') ? ['serve'] : [])]
  const [command, rest] = pinned(0, process.execPath, args)
  const child = spawn(command, rest, {
    env: { PATH: process.env['PATH'], PORT: '0', ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))
  let output = ''
  const pid = child.pid ?? 0
  const port = await new Promise<number>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text
      const url = /"url":"([^"]+)",.*"msg":"ready"/.exec(output)?.[1]
      if (url !== undefined) resolve(Number(new URL(url).port))
    })
    void closed.then(() => reject(new Error(`${name} exited before it was ready:\n${output}`)))
  })
  return {
    name,
    port,
    adminUrl: /"adminUrl":"([^"]+)"/.exec(output)?.[1],
    token,
    memory: () => readMemory(pid),
    async report() {
      output = ''
      child.kill('SIGUSR2')
      for (;;) {
        const [, figure] = /^reported: (\S+)\n/m.exec(output) ?? []
        if (figure !== undefined) return Number(figure)
        await once(child.stdout, 'data')
      }
    },
    cpuTime: () => cpuTime(pid),
    stop() {
      child.kill('SIGTERM')
      return closed
    },
  }
}

function readMemory(pid: number): number {
  const kibibytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kibibytes) * 1024
}
