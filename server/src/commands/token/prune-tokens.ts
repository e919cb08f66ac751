import { logTokenEvent, type Token } from '../../accounts/token-store.ts'
import { parseDuration } from '../../settings/duration.ts'
import type { Settings } from '../../settings/settings.ts'
import { createLogger, STANDARD_ERROR } from '../../telemetry/log/logger.ts'
import { UsageError } from '../console/errors.ts'
import { announce, print } from '../console/output.ts'
import { formatTokens } from './list-tokens.ts'
import { withTokens } from './with-tokens.ts'

/** The options of `token prune`, as typed in. */
export interface PruneTokensOptions {
  olderThan: string
  dryRun?: boolean
}

const MAX_AGE = '36500d'
/** How many tokens a statement deletes: servers wait for it. */
const BATCH = 500

/** Deletes tokens that expired or were revoked long ago, and prints how many. A dry run prints them instead. */
export async function pruneTokens(settings: Settings, { olderThan, dryRun }: PruneTokensOptions): Promise<void> {
  const before = new Date(Date.now() - parseAge(olderThan))
  const logger = await createLogger(settings.logLevel, STANDARD_ERROR)
  await withTokens(settings.databaseUrl, async (tokens) => {
    const ended = await tokens.listEnded(before)
    if (dryRun) {
      print(`${formatTokens(ended)}\n\n${describe(ended, before)} would be deleted`)
      return
    }
    for (let start = 0; start < ended.length; start += BATCH) {
      const batch = ended.slice(start, start + BATCH)
      await tokens.delete(batch.map(({ id }) => id))
      for (const token of batch) logTokenEvent(logger, 'token pruned', token)
    }
    announce(`deleted ${describe(ended, before)}`)
  })
}

function parseAge(text: string): number {
  const age = parseDuration(text, MAX_AGE)
  if (age === undefined)
    throw new UsageError(`--older-than must be a time between 1ms and ${MAX_AGE}, such as 12h or 90d`)
  return age
}

function describe({ length }: readonly Token[], before: Date): string {
  return `${length} ${length === 1 ? 'token' : 'tokens'} that expired or ${length === 1 ? 'was' : 'were'} revoked before ${before.toISOString()}`
}
