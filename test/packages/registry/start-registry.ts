import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { freePort } from '../../helpers/free-port.ts'
import { installTools } from '../../helpers/install-tools.ts'
import { until } from '../../helpers/until.ts'

/** A registry on this machine, for the packages of the plant store alone. */
export interface Registry {
  url: string
  /** Lines of an `.npmrc`: they use it, and may publish to it. Other packages come from where npm is configured to. */
  settings: string
  close(): Promise<void>
}

const STARTUP_TIMEOUT = 60_000

/**
 * Starts verdaccio.
 *
 * @param folder an empty folder for its data
 */
export async function startRegistry(folder: string): Promise<Registry> {
  const tools = await installTools(import.meta.dirname)
  await mkdir(folder, { recursive: true })
  const file = path.join(folder, 'config.json')
  await writeFile(file, JSON.stringify(describeRegistry(folder)))
  const port = await freePort()
  const url = `http://127.0.0.1:${port}/`
  const program = path.join(tools, 'node_modules/verdaccio/bin/verdaccio')
  const parameters = [program, '--config', file, '--listen', `127.0.0.1:${port}`]
  const child = spawn(process.execPath, parameters, { cwd: folder, stdio: 'ignore' })
  const closed = once(child, 'close')
  const close = async () => {
    child.kill()
    await closed
  }
  try {
    await until(
      () =>
        fetch(`${url}-/ping`).then(
          ({ ok }) => ok,
          () => false,
        ),
      STARTUP_TIMEOUT,
    )
    return { url, settings: await signUp(url), close }
  } catch (error) {
    await close()
    throw error
  }
}

function describeRegistry(folder: string) {
  return {
    storage: path.join(folder, 'storage'),
    auth: { htpasswd: { file: path.join(folder, 'htpasswd') } },
    packages: {
      '@plant-store/*': { access: '$all', publish: '$authenticated', unpublish: '$authenticated' },
    },
    web: { enable: false },
    log: { type: 'stdout', format: 'json', level: 'fatal' },
  }
}

/** Creates a user and returns the settings of npm with its token. */
async function signUp(url: string): Promise<string> {
  const response = await fetch(`${url}-/user/org.couchdb.user:alice`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'alice', password: 'correct horse battery' }),
  })
  const { token } = (await response.json()) as { token: string }
  return `@plant-store:registry=${url}\n${url.replace('http:', '')}:_authToken=${token}\n`
}
