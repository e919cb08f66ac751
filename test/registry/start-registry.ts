import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { installTools } from '../helpers/install-tools.ts'
import { freePort, responds, startProgram } from '../helpers/programs.ts'
import { startStages } from './stages.ts'

/** A registry on this machine, for the packages of the plant store alone. */
export type Registry = Awaited<ReturnType<typeof startRegistry>>

/**
 * Starts verdaccio, behind what stages releases. CI may read and stage; a maintainer may publish too.
 *
 * @param folder an empty folder for its data
 */
export async function startRegistry(folder: string) {
  const tools = await installTools(import.meta.dirname)
  await mkdir(folder, { recursive: true })
  const file = path.join(folder, 'config.json')
  const users = { access: '$all', publish: 'maintainer', unpublish: 'maintainer' }
  const configuration = {
    storage: path.join(folder, 'storage'),
    auth: { htpasswd: { file: path.join(folder, 'htpasswd') } },
    packages: { '@plant-store/*': users },
    web: { enable: false },
    log: { type: 'stdout', format: 'json', level: 'fatal' },
  }
  await writeFile(file, JSON.stringify(configuration))
  const url = `http://127.0.0.1:${await freePort()}/`
  const command = [process.execPath, `${tools}/node_modules/verdaccio/bin/verdaccio`, '--config', file, '--listen', url]
  const program = await startProgram(command, responds(`${url}-/ping`), { cwd: folder })
  const stages = await startStages(url)
  const close = async () => {
    stages.close()
    await program.stop()
  }
  // `npm stage` asks the registry of all packages.
  const maintainer = `registry=${stages.url}\n${await signUp(stages.url, 'maintainer')}`
  return { ci: await signUp(stages.url, 'ci'), maintainer, close }
}

/** Creates a user. Returns lines of an `.npmrc` that use the registry; other packages come from where npm is configured to. */
async function signUp(url: string, name: string): Promise<string> {
  const response = await fetch(`${url}-/user/org.couchdb.user:${name}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name, password: 'correct horse battery' }),
  })
  const { token } = (await response.json()) as { token: string }
  return `@plant-store:registry=${url}\n${url.replace('http:', '')}:_authToken=${token}\n`
}
