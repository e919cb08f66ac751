import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** Returns the bytes in use on the heap and in buffers: after a garbage collection, since V8 leaves more of it from version to version. */
export function memoryInUse(): number {
  collectGarbage()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

/** How long nothing more is freed once a process is at rest, in milliseconds. */
const REST = 500
/** What comes and goes all the time, in bytes. */
const NOISE = 100_000

/** Returns the bytes in use once what earlier tests have left, such as responses that nobody read, is freed. */
export async function memoryAtRest(): Promise<number> {
  let before = memoryInUse()
  for (;;) {
    await sleep(REST)
    const now = memoryInUse()
    if (now > before - NOISE) return now
    before = now
  }
}
