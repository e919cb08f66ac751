import { explainDatabaseError } from '@plant-store/prisma'
import type { Logger } from 'pino'
import { describeMistyped, findMistypedSettings } from '../../settings/mistyped-settings.ts'
import { type Environment, readSettings, type Settings } from '../../settings/settings.ts'
import { createLogger } from '../../telemetry/log/logger.ts'

/** Runs a command with the settings of the environment. Every failure of the database becomes a DatabaseError. */
export async function withSettings(
  run: (settings: Settings) => Promise<void>,
  overrides: Environment = {},
): Promise<void> {
  const environment = { ...process.env, ...overrides }
  const settings = readSettings(environment)
  for (const mistyped of findMistypedSettings(environment)) console.error(`plant-store: ${describeMistyped(mistyped)}`)
  await explainFailure(settings, () => run(settings))
}

/** Runs `serve` like {@link withSettings}, with its log. */
export async function withSettingsAndLog(run: (settings: Settings, logger: Logger) => Promise<void>): Promise<void> {
  const settings = readSettings(process.env)
  const logger = await createLogger(settings.logLevel)
  for (const mistyped of findMistypedSettings(process.env)) logger.warn(mistyped, describeMistyped(mistyped))
  await explainFailure(settings, () => run(settings, logger))
}

async function explainFailure({ databaseUrl }: Settings, run: () => Promise<void>): Promise<void> {
  try {
    await run()
  } catch (error) {
    throw await explainDatabaseError(error, databaseUrl)
  }
}
