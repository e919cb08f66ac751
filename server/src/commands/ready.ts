/** The command that service managers and health checks run. */
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { OperatorError } from '@plant-store/prisma'
import type { Context } from './context.ts'

/** How long the server may take to respond, in milliseconds: it gives up on its database after 2.5 s. */
const TIMEOUT = 4_000

/**
 * Asks the admin port whether the server is ready, and prints that it is.
 *
 * @throws OperatorError with the reason if it is not, with exit code 2 if the settings name no admin port
 */
export async function checkReadiness({ settings: { adminHost, adminPort }, print }: Context): Promise<void> {
  if (!adminPort) throw new OperatorError('ADMIN_PORT must be a port, such as 3001, on which the server can be asked')
  // A server that listens on all addresses listens on the loopback address.
  const isWildcard = /^[0.:]+$/.test(adminHost)
  const loopback = adminHost.includes(':') ? '::1' : '127.0.0.1'
  const { status, body } = await ask(isWildcard ? loopback : adminHost, adminPort)
  if (status === 200) return print(body)
  throw new OperatorError(
    status === 503 ? body : `ADMIN_PORT ${adminPort} is of another program: it responds ${status}`,
    1,
  )
}

async function ask(host: string, port: number): Promise<{ status: number | undefined; body: string }> {
  // A new agent uses no proxy of the environment.
  const request = get({ host, port, path: '/readyz', agent: false, signal: AbortSignal.timeout(TIMEOUT) })
  try {
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    return { status: response.statusCode, body: (await text(response)).trim() }
  } catch (error) {
    const { code, name } = error as NodeJS.ErrnoException
    const reason =
      name === 'AbortError' ? `nothing responds within ${TIMEOUT / 1_000} s` : `no server responds (${code})`
    throw new OperatorError(`${reason} on ADMIN_HOST ${host}, ADMIN_PORT ${port}: is it running?`, 1, error)
  }
}
