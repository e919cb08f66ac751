import { execFileSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { exclusively, root } from '../programs.ts'

/** Says that this run has built; the folder of temporary files is the run's. */
const done = path.join(tmpdir(), 'built')

// Only a test file that imports this needs the build, and the first of a run makes it: all else runs from the sources.
await exclusively(`${done}.lock`, async () => {
  if (existsSync(done)) return
  execFileSync(process.execPath, [`${root}server/scripts/build.mjs`], { stdio: 'inherit' })
  writeFileSync(done, '')
})

/** Returns the path of a file of the server, or of a package that it needs, as it is built: such as `server/dist/main.js`. */
export function built(file: string): string {
  return path.join(root, file)
}
