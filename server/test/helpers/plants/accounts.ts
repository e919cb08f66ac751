import type { TestServer } from '../../../../test/helpers/server/start-test-server.ts'

let accounts = 0

/** Creates a token of an account that has no plants. */
export async function newAccount(server: TestServer): Promise<string> {
  return (await server.createToken({ account: `account ${++accounts}` })).token
}

/** Lists the plants of a token's account. */
export async function listOf(server: TestServer, token: string): Promise<unknown> {
  return (await server.call('/plants', { token })).json()
}
