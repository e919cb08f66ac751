import { findRuntime } from '../../../test/helpers/runtimes.ts'

const deno = ['run', '--no-prompt', '--node-modules-dir=manual', '--allow-net=127.0.0.1']

/** The runtimes of apps, with the parameters that precede a file. Deno has no permission to read the environment. */
export const runtimes: [name: string, program: string | undefined, parameters: string[]][] = [
  [`Node.js ${process.versions.node}`, process.execPath, []],
  ...['20', '22', '24', '26'].map((version): (typeof runtimes)[number] => {
    return [`the installed Node.js ${version}`, findRuntime(`node-${version}/bin/node`), []]
  }),
  ['Bun', findRuntime('bun'), []],
  ['Deno', findRuntime('deno'), deno],
]
