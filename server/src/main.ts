#!/usr/bin/env node
// First, since the first process of a container ignores signals without handlers.
import './commands/signals.ts'
import './check-node-version.ts'
import { hideUrlsFromProcessList } from './commands/console/hide-urls.ts'

hideUrlsFromProcessList()

await import('./commands/command-line.ts')
