import { readFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import type { Datamodel } from '../src/migration/schema-engine.ts'
import { argumentUrl } from './argument-url.ts'
import { loadEngine } from './engine.ts'
import { serveJsonRpc } from './json-rpc.ts'
import { reportError } from './prisma-error.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    datamodels: { type: 'string', multiple: true, default: [] },
    datasource: { type: 'string', default: '{}' },
    'enabled-preview-features': { type: 'string' },
    'extension-types': { type: 'string' },
  },
})
const url = completeUrl((JSON.parse(values.datasource) as { url?: string }).url)
const engine = await loadEngine(url)

switch (positionals.join(' ')) {
  case '':
    await serveJsonRpc(
      (method) => engine.openEngineDatabase(url, method),
      await Promise.all(values.datamodels.map(readDatamodel)),
    )
    break
  case 'cli can-connect-to-database':
    await engine.canConnect(url).catch(reportError)
    break
  case 'cli create-database':
    await engine.createDatabase(url).catch(reportError)
    break
  default:
    throw new Error(`The schema engine has no command "${positionals.join(' ')}"`)
}

/** Completes a URL of prisma.config.ts, which has no password, with the environment. One of `--url` stays. */
function completeUrl(argument = ''): string {
  const { DATABASE_URL: own } = process.env
  return own !== undefined && argumentUrl(own) === argument ? own : argument
}

async function readDatamodel(path: string): Promise<Datamodel> {
  return [path, await readFile(path, 'utf8')]
}
