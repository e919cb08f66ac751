import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('../../../server/', import.meta.url))

/** Runs before the whole suite: builds the command line, which tests start as processes. */
export default function setup(): void {
  execFileSync('npm', ['run', '--silent', 'build'], { cwd: folder, stdio: 'inherit' })
}
