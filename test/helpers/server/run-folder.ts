import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { isLong } from '../long-tests.ts'
import { root } from '../programs.ts'

const MEMORY = '/dev/shm'

/** Waits until the run has ended, in whatever way, ends its PostgreSQL, and removes its folders with what is mounted in them. */
const REMOVE = `
cat
for folder; do
  for server in $(head -n 1 "$folder/shared-postgresql/data/postmaster.pid"); do
    kill -QUIT "$server"
    while kill -0 "$server"; do sleep 0.05; done
  done
  grep -o " $folder/[^ ]*" /proc/mounts | sort -r | xargs -r umount
  rm -rf "$folder"
done
`

/**
 * Runs around the whole suite: gives it folders of its own for what is temporary, on disk and in memory. They are removed
 * when it ends, also if it is interrupted or killed.
 */
export default function setup(): () => Promise<void> {
  if (process.platform === 'win32') throw new Error('The tests run on Linux and macOS: on Windows, run them in WSL.')
  if (!isLong) console.log('PLANT_STORE_LONG_TESTS=1 adds what vitest.config.ts leaves out: failures, the page ...')
  const folders = [tmpdir(), ...(existsSync(MEMORY) ? [MEMORY] : [])].map((parent) => {
    const folder = mkdtempSync(path.join(parent, 'plant-store-run-'))
    // Servers of other users put their data there.
    chmodSync(folder, 0o755)
    return folder
  })
  const [temporary, memory] = folders
  Object.assign(process.env, {
    PLANT_STORE_MEMORY: memory ?? temporary,
    TMPDIR: temporary,
    // For the threads of databases, which start from the sources hundreds of times: in half of the CPU time.
    NODE_COMPILE_CACHE: `${root}node_modules/.cache/compiled`,
  })
  // Detached, since Ctrl+C ends all processes of the terminal.
  const remover = spawn('sh', ['-c', REMOVE, 'sh', ...folders], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  return async () => {
    remover.stdin.end()
    await once(remover, 'close')
  }
}
