/** Checks the types of all packages, and prints each error once: the sources of a package are also checked where it is used. */
import { root, start } from './run.mjs'

const packages = ['contract', 'prisma', 'server', 'client', 'client/example', 'test']
const { status, stdout } = start(`${root}node_modules/.bin/tsc`, ['--build', '--pretty', 'false', ...packages])
// An error is a line, and those below it that are indented.
const errors = new Set(stdout.split(/\n(?!\s)/))
process.stdout.write([...errors].join('\n'))
process.exit(status ?? 1)
