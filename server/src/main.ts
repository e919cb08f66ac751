#!/usr/bin/env node
// It loads nothing else at first: until signals have handlers, the first process of a container cannot be ended.
import './commands/signals.ts'

await import('./commands/command-line.ts')
