/** Loaded into a server that is measured: at SIGUSR2 it prints the bytes in use on the heap and in buffers. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { isMainThread } from 'node:worker_threads'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

if (isMainThread) {
  process.on('SIGUSR2', async () => {
    // What one collection finds unused frees more at the next.
    for (let time = 0; time < 3; time++) {
      collectGarbage()
      await nextTurn()
    }
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    console.log(`reported: ${heapUsed + arrayBuffers}`)
  })
}
