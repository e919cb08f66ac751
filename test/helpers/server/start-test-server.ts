import { createNewToken, type NewToken, type Settings, startServer } from '@plant-store/server'
import { newDatabase } from '../database/databases.ts'
import { afterFile } from '../temporary.ts'

/** A real server on a free port, with a real database of its own. */
export type TestServer = Awaited<ReturnType<typeof startTestServer>>

/** How to call it. */
type CallOptions = RequestInit & { token?: string | null }

/** Starts a server with these settings over an empty database; it is closed after the file's tests, if not before. */
export async function startTestServer(
  settings: Partial<Settings> = {},
  { logger }: { logger?: Parameters<typeof startServer>[1] } = {},
) {
  const databaseUrl = settings.databaseUrl ?? (await newDatabase())
  // A busy machine must not decide a test: no connection is closed while a test computes.
  // A connection that `fetch` has opened and not used would hold a shutdown up for its whole time.
  const limits = { keepAliveTimeout: 60_000, shutdownTimeout: 1_000 }
  const defaults = { port: 0, databaseUrl, shutdownDelay: 0, ...limits }
  const server = await startServer({ ...defaults, ...settings }, logger)
  const createToken = (token: Partial<NewToken> = {}) => createNewToken(server.tokens, { account: 'alice', ...token })
  const { token: aliceToken } = await createToken()

  /** Calls the server with a token, by default that of "alice"; `null`: with none. */
  const call = (target: string, { token = aliceToken, headers, ...options }: CallOptions = {}) => {
    const authorization = token === null ? {} : { authorization: `Bearer ${token}` }
    return fetch(server.url + target, {
      ...options,
      headers: { ...authorization, ...(headers as Record<string, string>) },
    })
  }

  let closed: Promise<void> | undefined
  const close = () => {
    closed ??= server.close()
    return closed
  }
  afterFile(close)

  return {
    url: server.url,
    /** The admin port; undefined if there is none. */
    adminUrl: server.adminUrl,
    databaseUrl,
    /** A token of the account "alice" with both scopes. */
    token: aliceToken,
    createToken,
    call,
    /** Creates a plant from the text of a body and gives the response. */
    post: (body: string | Uint8Array<ArrayBuffer>, { headers, ...options }: CallOptions = {}) =>
      call('/plants', {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json', ...(headers as Record<string, string>) },
        ...options,
      }),
    revoke: (id: string) => server.tokens.revoke(id),
    close,
    [Symbol.asyncDispose]: close,
  }
}
