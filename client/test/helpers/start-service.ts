import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type NewToken, type Settings, startServer } from '@plant-store/server'
import { writeNewDatabase } from '../../../prisma/test/helpers/new-database.ts'
import { createPlantStoreClient, type PlantStoreClient } from '../../src/index.ts'

/** The real service on a free port, over a real database file of its own. */
export interface Service extends AsyncDisposable {
  url: string
  databaseUrl: string
  /** A client of the account "alice". */
  client: PlantStoreClient
  createToken(token?: Partial<NewToken>): Promise<string>
  /** A client of an account that no other client has. */
  newAccount(): Promise<PlantStoreClient>
}

export async function startService(settings: Partial<Settings> = {}): Promise<Service> {
  const folder = await mkdtemp(path.join(tmpdir(), 'plant-store-client-'))
  const file = path.join(folder, 'plant-store.db')
  const databaseUrl = `file:${file}`
  await writeNewDatabase(file)
  const server = await startServer({ port: 0, databaseUrl, shutdownDelay: 0, ...settings })
  const createToken = async (token: Partial<NewToken> = {}) =>
    (await server.tokens.create({ account: 'alice', ...token })).token
  let accounts = 0
  return {
    url: server.url,
    databaseUrl,
    client: createPlantStoreClient({ baseUrl: server.url, token: await createToken() }),
    createToken,
    async newAccount() {
      const token = await createToken({ account: `account ${++accounts}` })
      return createPlantStoreClient({ baseUrl: server.url, token })
    },
    async [Symbol.asyncDispose]() {
      await server.close()
      await rm(folder, { recursive: true })
    },
  }
}
