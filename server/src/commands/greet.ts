import { explainDatabaseError } from '@plant-store/prisma'
import type { Logger } from 'pino'
import { ownCommand } from '../installation.ts'
import type { RunningServer } from '../server.ts'
import type { Settings } from '../settings/settings.ts'
import { isClosed, OutputError, print, printError } from './console.ts'
import { createPrinted } from './token.ts'

const DAY = 86_400_000
/** How many days the token of the first startup is valid. */
const DEMO_DAYS = 7

/**
 * Prints how to begin if the database is empty: a token and calls that work as pasted. In production, where others read the
 * output, a line of the log says how to create one instead. A greeting that fails is logged: the server serves without it.
 *
 * @param signal no token is printed, or stays valid, once it is aborted
 */
export async function greetIfEmpty(
  server: RunningServer,
  settings: Settings,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  try {
    if (!(await server.isEmpty())) return
    if (settings.nodeEnv !== 'production') await greetWithToken(server, settings, logger, signal)
    else logger.info({ event: 'empty database' }, `the plant store is empty: ${explainTokens()}`)
  } catch (error) {
    if (signal.aborted) return
    const { message } = (await explainDatabaseError(error, settings.databaseUrl)) as Error
    // The log is written to the output that has failed.
    if (error instanceof OutputError) printError(`plant-store: no token was printed: ${message}`)
    else logger.warn(`no token was printed: ${message}; ${explainTokens()}`)
  }
}

async function greetWithToken(
  { url, tokens }: RunningServer,
  { docs }: Settings,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  if (isClosed() || signal.aborted) return
  const expiresAt = new Date(Date.now() + DEMO_DAYS * DAY)
  const token = { account: 'demo', label: 'printed at the first startup', expiresAt }
  await createPrinted(tokens, token, logger, (created) => {
    signal.throwIfAborted()
    print(explainCalls(url, created.token, docs))
  })
}

function explainCalls(url: string, token: string, docs: boolean): string {
  return `
The plant store is empty. This token of the account "demo" is shown only once and expires in ${DEMO_DAYS} days:

  ${token}

Create a plant, then list it:

  curl -sS ${url}/plants -H "Authorization: Bearer ${token}" -H "Content-Type: application/json" -d "{\\"id\\": 1, \\"name\\": \\"Monstera deliciosa\\", \\"tag\\": \\"aroid\\"}"
  curl -sS ${url}/plants -H "Authorization: Bearer ${token}"
${docs ? `\nOr open ${url}/docs in a browser.\n` : ''}`
}

function explainTokens(): string {
  const command = `"${ownCommand} token create --account me"`
  if (ownCommand === 'plant-store') return `create a token with ${command}`
  // The shell that the command is pasted into does not have the server's settings.
  return `create a token, in the same folder, with ${command} and the same DATABASE_URL in the environment`
}
