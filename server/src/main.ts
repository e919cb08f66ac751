#!/usr/bin/env node
// First, since the first process of a container ignores signals without handlers.
import './commands/signals.ts'

await import('./commands/command-line.ts')
