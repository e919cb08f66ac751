#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import module from 'node:module'
import path from 'node:path'
// Before all else that takes time to load, since the first process of a container ignores signals without handlers.
import './commands/signals.ts'

/** How long what is still open may keep the process running after its command has ended, in milliseconds. */
const GRACE = 100

checkNodeVersion()
// What V8 has compiled is kept in the installation, if that can be written to: the next start takes an eighth less.
module.enableCompileCache(path.join(import.meta.dirname, '../node_modules/.cache/compiled'))

const { runCommandLine } = await import('./commands/command-line.ts')
process.exitCode = await runCommandLine(process.argv.slice(2))
setTimeout(() => process.exit(), GRACE).unref()

/** Ends the process where Node.js is too old, with the versions that are needed: without this, SQLite crashes it. */
function checkNodeVersion(): void {
  const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  // Such as `>=24.15.0`.
  const range: string = engines.node
  const version = process.versions.node
  if (toNumber(version) >= toNumber(range.slice(2))) return
  console.error(`plant-store: Node.js ${version} is not supported: install a version in the range ${range}`)
  process.exit(2)
}

/** Returns 24015000 for 24.15.0. Comparing the texts would load a collation, 15 ms of a startup. */
function toNumber(version: string): number {
  return version.split('.').reduce((number, part) => number * 1_000 + Number(part), 0)
}
