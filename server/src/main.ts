#!/usr/bin/env node
// First, since the first process of a container ignores signals without handlers.
import './commands/signals.ts'
import './commands/check-node-version.ts'
import module from 'node:module'
import path from 'node:path'
import { hideUrlsFromProcessList } from './commands/hide-urls.ts'

hideUrlsFromProcessList()
// What V8 has compiled is kept in the installation, if that can be written to: the next start takes an eighth less.
module.enableCompileCache(path.join(import.meta.dirname, '../node_modules/.cache/compiled'))

const { runCommandLine } = await import('./commands/command-line.ts')
process.exitCode = await runCommandLine(process.argv.slice(2))
