import { type NewToken, type Settings, startServer } from '@plant-store/server'
import { newDatabase } from '../database/databases.ts'
import { afterFile } from '../temporary.ts'

/** A real server on a free port, with a real database of its own. */
export interface TestServer extends AsyncDisposable {
  url: string
  /** The admin port; undefined if there is none. */
  adminUrl: string | undefined
  databaseUrl: string
  /** A token of the account "alice" with both scopes. */
  token: string
  createToken(token?: Partial<NewToken>): Promise<{ id: string; token: string }>
  /** Calls the server with a token, by default that of "alice"; `null`: with none. */
  call(path: string, options?: RequestInit & { token?: string | null }): Promise<Response>
  /** Creates a plant from the text of a body and gives the response. */
  post(body: string | Uint8Array, options?: RequestInit & { token?: string | null }): Promise<Response>
  revoke(id: string): Promise<unknown>
  close(): Promise<void>
}

/** Starts a server with these settings over an empty database; it is closed after the file's tests, if not before. */
export async function startTestServer(
  settings: Partial<Settings> = {},
  { logger }: { logger?: Parameters<typeof startServer>[1] } = {},
): Promise<TestServer> {
  const databaseUrl = settings.databaseUrl ?? (await newDatabase())
  // A busy machine must not decide a test: no connection is closed while a test computes.
  // A connection that `fetch` has opened and not used would hold a shutdown up for its whole time.
  const limits = { keepAliveTimeout: 60_000, shutdownTimeout: 1_000 }
  const defaults = { port: 0, databaseUrl, shutdownDelay: 0, ...limits }
  const server = await startServer({ ...defaults, ...settings }, logger)
  const createToken = (token: Partial<NewToken> = {}) => server.tokens.create({ account: 'alice', ...token })
  const { token: aliceToken } = await createToken()

  const call: TestServer['call'] = (target, { token = aliceToken, headers, ...options } = {}) => {
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
    adminUrl: server.adminUrl,
    databaseUrl,
    token: aliceToken,
    createToken,
    call,
    post: (body, { headers, ...options } = {}) =>
      call('/plants', {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json', ...(headers as Record<string, string>) },
        ...options,
      }),
    revoke: (id) => server.tokens.revoke(id),
    close,
    [Symbol.asyncDispose]: close,
  }
}
