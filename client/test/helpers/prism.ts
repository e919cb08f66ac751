import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../../test/helpers/free-port.ts'
import { installTools } from '../../../test/helpers/install-tools.ts'
import { until } from '../../../test/helpers/until.ts'

const tools = fileURLToPath(new URL('../tools', import.meta.url))

/** Prism, listening. */
export interface Prism extends AsyncDisposable {
  url: string
}

/** Starts Prism, and waits until it listens: `mock DOCUMENT`, or `proxy DOCUMENT URL`, which also validates. */
export async function startPrism(...command: string[]): Promise<Prism> {
  const script = path.join(await installTools(tools), 'node_modules/.bin/prism')
  const port = await freePort()
  const parameters = [script, ...command, '--port', String(port), '--verboseLevel', 'warn']
  const child = spawn(process.execPath, parameters, { stdio: 'ignore' })
  const exited = once(child, 'exit')
  const url = `http://127.0.0.1:${port}`
  const responds = () =>
    fetch(url).then(
      () => true,
      () => child.exitCode !== null,
    )
  const stop = async () => {
    child.kill()
    await exited
  }
  try {
    await until(responds, 60_000)
    if (child.exitCode !== null) throw new Error(`Prism exited with ${child.exitCode}`)
  } catch (error) {
    await stop()
    throw error
  }
  return { url, [Symbol.asyncDispose]: stop }
}
