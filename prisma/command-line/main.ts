import { readFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import type { Datamodel } from '../src/migration/schema-engine.ts'
import { canConnectToDatabase, createDatabase } from './database-file.ts'
import { serveJsonRpc } from './json-rpc.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    datamodels: { type: 'string', multiple: true, default: [] },
    datasource: { type: 'string', default: '{}' },
    'enabled-preview-features': { type: 'string' },
    'extension-types': { type: 'string' },
  },
})
const { url } = JSON.parse(values.datasource) as { url?: string }

switch (positionals.join(' ')) {
  case '':
    await serveJsonRpc(url, await Promise.all(values.datamodels.map(readDatamodel)))
    break
  case 'cli can-connect-to-database':
    canConnectToDatabase(url)
    break
  case 'cli create-database':
    createDatabase(url)
    break
  default:
    throw new Error(`The schema engine has no command "${positionals.join(' ')}"`)
}

async function readDatamodel(path: string): Promise<Datamodel> {
  return [path, await readFile(path, 'utf8')]
}
