/** Checks the types of all packages, and prints each error once: the sources of a package are also checked where it is used. */
import { root, start } from './run.mjs'

const packages = ['contract', 'prisma', 'server', 'client', 'client/example', 'test']
const options = process.argv.slice(2)
const command = ['--build', '--pretty', 'false', ...packages, ...options]
// With an option, such as `--watch`, it prints as it goes.
const { status, stdout } = start(`${root}node_modules/.bin/tsc`, command, options.length > 0 ? 'inherit' : 'pipe')
// An error is a line, and those below it that are indented.
process.stdout.write([...new Set(stdout?.split(/\n(?!\s)/))].join('\n'))
process.exit(status ?? 1)
