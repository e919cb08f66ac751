/**
 * Installs what the packages are tested with on Linux: other versions of Node.js, npm and TypeScript, Bun and Deno.
 * Without them those tests are skipped.
 *
 * Usage: node client/scripts/install-runtimes.mjs
 */
import { installLocked } from '../../scripts/tools.mjs'

installLocked('client/scripts/runtimes', 'runtimes')
