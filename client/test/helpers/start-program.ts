import { type SpawnOptionsWithoutStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { until } from '../../../test/helpers/until.ts'

/** Starts a script of Node.js, and waits until it responds to requests at this port. Throws with its output if it fails. */
export async function startProgram(
  [script = '', ...parameters]: string[],
  port: number,
  options: SpawnOptionsWithoutStdio = {},
): Promise<AsyncDisposable> {
  // A group of its own, which ends with all its processes.
  const child = spawn(process.execPath, [script, ...parameters], { ...options, detached: true })
  const closed = once(child, 'close')
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  const stop = async () => {
    if (child.exitCode === null && child.pid) process.kill(-child.pid, 'SIGKILL')
    await closed
  }
  const responds = () =>
    fetch(`http://127.0.0.1:${port}`).then(
      () => true,
      () => child.exitCode !== null,
    )
  try {
    await until(responds, 60_000)
    if (child.exitCode !== null) throw new Error(`${script} ended`)
  } catch (cause) {
    await stop()
    throw new Error(`${script} does not respond:\n${output}`, { cause })
  }
  return { [Symbol.asyncDispose]: stop }
}
