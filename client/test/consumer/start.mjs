import process from 'node:process'
import { run } from './run.mjs'

console.log(await run(...process.argv.slice(2)))
