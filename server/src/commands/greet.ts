import { DEFAULT_DATABASE_URL, databaseUrl as readDatabaseUrl } from '@plant-store/prisma'
import type { Logger } from 'pino'
import { logTokenEvent } from '../accounts/log-token-event.ts'
import type { RunningServer } from '../server.ts'
import type { Settings } from '../settings/settings.ts'
import { isOutputClosed, OutputError, print } from './output.ts'

const DAY = 86_400_000
/** For how many days the token of a first start is valid. */
const DEMO_DAYS = 7

/**
 * Greets whoever starts the server on an empty database: with a token and calls that work as pasted, or in production,
 * whose log is kept and read by others, with the commands that make a token.
 */
export async function greet(server: RunningServer, settings: Settings, logger: Logger): Promise<void> {
  if (isOutputClosed()) return
  try {
    if (settings.nodeEnv === 'production') print(explainTokens(settings))
    else await greetWithToken(server, settings, logger)
  } catch (error) {
    if (!(error instanceof OutputError)) throw error
    console.error(`plant-store: no token was shown: ${error.message}`)
  }
}

async function greetWithToken({ url, tokens }: RunningServer, { docs }: Settings, logger: Logger): Promise<void> {
  const expiresAt = new Date(Date.now() + DEMO_DAYS * DAY)
  const created = await tokens.create({ account: 'demo', label: 'printed at the first start', expiresAt })
  logTokenEvent(logger, 'token created', created)
  try {
    print(explainCalls(url, created.token, docs))
  } catch (error) {
    const revoked = await tokens.revoke(created.id)
    if (revoked) logTokenEvent(logger, 'token revoked', revoked)
    throw error
  }
}

function explainCalls(url: string, token: string, docs: boolean): string {
  return `
The plant store is empty. This token of the account "demo" is shown once, and expires in ${DEMO_DAYS} days:

  ${token}

Create a plant, then list it:

  curl -sS ${url}/plants -H "Authorization: Bearer ${token}" -H "Content-Type: application/json" -d "{\\"id\\": 1, \\"name\\": \\"Monstera deliciosa\\", \\"tag\\": \\"aroid\\"}"
  curl -sS ${url}/plants -H "Authorization: Bearer ${token}"
${docs ? `\nOr open ${url}/docs in a browser.\n` : ''}`
}

function explainTokens({ databaseUrl }: Settings): string {
  // The shell in which the command is pasted does not have the settings of the server.
  const setting = databaseUrl === readDatabaseUrl(DEFAULT_DATABASE_URL) ? '' : `DATABASE_URL=${quote(databaseUrl)} `
  return `
The plant store is empty. Create a token, in the folder of the plant store or with its command installed:

  ${setting}npm run --silent plant-store -- token create --account me
  ${setting}plant-store token create --account me
`
}

/** A text as one word of a POSIX shell. */
function quote(text: string): string {
  return /^[\w./:@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
