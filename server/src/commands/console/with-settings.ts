import { explainDatabaseError, explainIgnored } from '@plant-store/prisma'
import type { Logger } from 'pino'
import { type Environment, findMistakenMode, readSettings, type Settings } from '../../settings/settings.ts'
import { createLogger } from '../../telemetry/log/logger.ts'

/** Runs a command with the settings of the environment. Every failure of the database becomes a DatabaseError. */
export async function withSettings(
  run: (settings: Settings) => Promise<void>,
  overrides: Environment = {},
): Promise<void> {
  const settings = readSettings({ ...process.env, ...overrides })
  for (const warning of findWarnings(settings)) console.error(`plant-store: ${warning}`)
  await explainFailure(settings, () => run(settings))
}

/** Runs `serve` like {@link withSettings}, with its log. */
export async function withSettingsAndLog(run: (settings: Settings, logger: Logger) => Promise<void>): Promise<void> {
  const settings = readSettings(process.env)
  const logger = await createLogger(settings.logLevel)
  for (const warning of findWarnings(settings)) logger.warn(warning)
  await explainFailure(settings, () => run(settings, logger))
}

function findWarnings({ databaseUrl }: Settings): string[] {
  return [findMistakenMode(process.env), explainIgnored(databaseUrl)].filter((warning) => warning !== undefined)
}

async function explainFailure({ databaseUrl }: Settings, run: () => Promise<void>): Promise<void> {
  try {
    await run()
  } catch (error) {
    throw await explainDatabaseError(error, databaseUrl)
  }
}
