#!/usr/bin/env node
// First, since the first process of a container ignores signals without handlers.
import './commands/signals.ts'
import './check-node-version.ts'
import { hideUrlsFromProcessList } from './commands/hide-urls.ts'

hideUrlsFromProcessList()

const { runCommandLine } = await import('./commands/command-line.ts')
process.exitCode = await runCommandLine(process.argv.slice(2))
