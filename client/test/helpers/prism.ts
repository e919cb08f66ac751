import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../../test/helpers/free-port.ts'
import { installTools } from '../../../test/helpers/install-tools.ts'
import { responds, startProgram } from '../../../test/helpers/start-program.ts'

const tools = fileURLToPath(new URL('../tools', import.meta.url))

/** Prism, listening. */
export interface Prism extends AsyncDisposable {
  url: string
}

/** Starts Prism, and waits until it listens: `mock DOCUMENT`, or `proxy DOCUMENT URL`, which also validates. */
export async function startPrism(...command: string[]): Promise<Prism> {
  const script = path.join(await installTools(tools), 'node_modules/.bin/prism')
  const port = await freePort()
  const options = ['--port', String(port), '--verboseLevel', 'warn']
  const url = `http://127.0.0.1:${port}`
  const program = await startProgram([process.execPath, script, ...command, ...options], responds(url))
  return { ...program, url }
}
