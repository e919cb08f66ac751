import { explainDatabaseError } from '@plant-store/prisma'
import { type Environment, readSettings, type Settings } from '../settings/settings.ts'

/** Runs a command with the settings of the environment. Every failure of the database becomes a DatabaseError. */
export async function withSettings(
  run: (settings: Settings) => Promise<void>,
  // Only `serve` sends traces.
  environment: Environment = { ...process.env, OTEL_SDK_DISABLED: 'true' },
): Promise<void> {
  const settings = readSettings(environment)
  try {
    await run(settings)
  } catch (error) {
    throw await explainDatabaseError(error, settings.databaseUrl)
  }
}
