import { logTokenEvent } from '../../accounts/token-store.ts'
import type { Settings } from '../../settings/settings.ts'
import { createLogger, STANDARD_ERROR } from '../../telemetry/log/logger.ts'
import { CommandError } from '../console/errors.ts'
import { announce } from '../console/output.ts'
import { toPrintable } from '../console/printable.ts'
import { withTokens } from './with-tokens.ts'

/** Revokes a token. One that is revoked already keeps its time, and is not logged again. */
export async function revokeToken(settings: Settings, id: string): Promise<void> {
  const logger = await createLogger(settings.logLevel, STANDARD_ERROR)
  const begin = new Date()
  await withTokens(settings.databaseUrl, async (tokens) => {
    const token = await tokens.revoke(id)
    if (!token?.revokedAt) {
      throw new CommandError(`token "${toPrintable(id)}" does not exist; list them with: plant-store token list`)
    }
    const name = `${token.id} of the account "${toPrintable(token.account)}"`
    if (token.revokedAt < begin) {
      announce(`${name} is revoked since ${token.revokedAt.toISOString()}`)
      return
    }
    logTokenEvent(logger, 'token revoked', token)
    announce(`revoked ${name}`)
  })
}
