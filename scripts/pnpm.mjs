// Runs the version of pnpm that package.json names, on a machine without pnpm too: node scripts/pnpm.mjs PARAMETERS
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const { packageManager } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
const parameters = ['--yes', packageManager, ...process.argv.slice(2)]
const { status } = spawnSync('npx', parameters, { stdio: 'inherit', shell: process.platform === 'win32' })
process.exitCode = status ?? 1
