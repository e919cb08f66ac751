import { OperatorError } from '../operator-error.ts'
import type { Context } from './context.ts'

/** How long the server may take to respond, in milliseconds: it gives up on its database after 2.5 s. */
const READY_TIMEOUT = 4_000

/**
 * Asks the admin port whether the server is ready, and prints that it is.
 *
 * @throws {OperatorError} with the reason if it is not, with exit code 2 if the settings name no admin port
 */
export async function checkReadiness({ settings: { adminHost, adminPort }, print }: Context): Promise<void> {
  if (!adminPort) throw new OperatorError('ADMIN_PORT must be a port, such as 3001, on which the server can be asked')
  // A server that listens on all addresses listens on the loopback address.
  const host = adminHost.replace(/^0\.0\.0\.0$/, '127.0.0.1').replace(/^[0:]+$/, '::1')
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${adminPort}/readyz`
  const [status, body] = await fetch(url, { signal: AbortSignal.timeout(READY_TIMEOUT) })
    .then(async (response) => [response.status, (await response.text()).trim()] as const)
    .catch((error) => {
      const reason = error.cause?.message ?? error.message
      throw new OperatorError(`no server responds on ADMIN_HOST ${host}, ADMIN_PORT ${adminPort}: ${reason}`, 1, error)
    })
  if (status === 200) return print(body)
  const other = `ADMIN_PORT ${adminPort} is of another program: it responds ${status}`
  throw new OperatorError(status === 503 ? body : other, 1)
}
