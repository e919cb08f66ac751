/**
 * Installs what the packages are tested with on Linux: other versions of Node.js, npm and TypeScript, Bun and Deno. Without
 * them those tests are skipped.
 *
 * Usage: node client/scripts/install-runtimes.mjs
 */
import { installLocked, root } from '../../scripts/run.mjs'

installLocked(`${root}client/scripts/runtimes`, `${root}node_modules/.cache/runtimes`)
