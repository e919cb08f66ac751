import { migrateDatabase, openDatabase } from '@plant-store/prisma'
import pino, { type Logger } from 'pino'
import { createAuthenticator } from './accounts/authenticator.ts'
import { createTokenStore, type TokenStore } from './accounts/token-store.ts'
import { createApp } from './app.ts'
import { createHttpServer, listen, stop } from './http/http-server.ts'
import { createPlantStore } from './plants/plant-store.ts'
import { readSettings, type Settings } from './settings.ts'

/** How long requests under way may take to end when the server closes, in milliseconds. */
const SHUTDOWN_TIMEOUT = 10_000

/** The server cannot start. The message is one sentence that says what to do. */
export class StartError extends Error {
  override readonly name = 'StartError'
}

/** A server that answers. */
export interface RunningServer {
  /** The address it listens on, such as `http://127.0.0.1:3000`. */
  url: string
  tokens: TokenStore
  /** Whether there is neither a token nor a plant yet. */
  isEmpty(): Promise<boolean>
  /** Lets requests under way end, then closes the database. */
  close(): Promise<void>
}

/**
 * Starts the service: takes the port, brings the database up to date, answers. The port comes first, so that a start
 * that fails for it has changed nothing on disk.
 *
 * @param settings what differs from the defaults
 * @throws StartError, or DatabaseError where the database cannot be used
 */
export async function startServer(
  settings: Partial<Settings> = {},
  logger: Logger = pino({ level: 'silent' }),
): Promise<RunningServer> {
  const { host, port, databaseUrl, publicUrl, bodyLimit } = { ...readSettings({}), ...settings }
  const { server, use } = createHttpServer()
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${await takePort()}`
  try {
    const { applied } = await migrateDatabase(databaseUrl)
    for (const migration of applied) logger.info({ migration }, 'migration applied')
    const database = await openDatabase(databaseUrl)
    const tokens = createTokenStore(database.prisma)
    const app = createApp({
      authenticate: createAuthenticator(tokens),
      plants: createPlantStore(database),
      logger,
      bodyLimit,
      publicUrl,
    })
    use(app)
    return {
      url,
      tokens,
      isEmpty: async () => !(await database.prisma.token.findFirst()) && !(await database.prisma.plant.findFirst()),
      async close() {
        await stop(server, SHUTDOWN_TIMEOUT)
        await database.close()
      },
    }
  } catch (error) {
    await stop(server, 0)
    throw error
  }

  async function takePort(): Promise<number> {
    try {
      return await listen(server, port, host)
    } catch (error) {
      throw new StartError(explainListenError(error, host, port), { cause: error })
    }
  }
}

function explainListenError(error: unknown, host: string, port: number): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'EADDRINUSE')
    return `PORT ${port} on ${host} is taken by another program. Stop that one or set another PORT.`
  if (code === 'EACCES') return `PORT ${port} may not be used by this user. Set a PORT above 1023.`
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return `HOST ${host} is no address of this machine. Set HOST to one that is.`
  return `The server cannot listen on HOST ${host}, PORT ${port}: ${code ?? error}.`
}
