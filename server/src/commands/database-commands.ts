/** The commands that migrate, back up and copy a database. */
import path from 'node:path'
import {
  backupDatabase,
  type CopyAddress,
  checkMigrated,
  copyDatabase,
  databaseUrl,
  migrateDatabase,
  OperatorError,
  StorageError,
} from '@plant-store/prisma'
import type { Settings } from '../settings.ts'
import type { Context } from './context.ts'

/** The options of `copy`, as typed in. */
export interface CopyOptions {
  from?: string
  to?: string
}

/** The options of `migrate`, as typed in. */
export interface MigrateOptions {
  check?: boolean
}

/** Migrates the database and prints what was applied, or only checks that nothing would be. */
export async function migrate({ settings, print, progress }: Context, { check }: MigrateOptions): Promise<void> {
  if (check) await checkMigrated(settings.databaseUrl)
  const onMigration = (name: string, done: number, total: number) =>
    progress(`Applying the migration ${name}, ${done + 1} of ${total}`)
  const { applied } = check ? { applied: [] } : await migrateDatabase(settings.databaseUrl, undefined, { onMigration })
  await print(applied.length === 0 ? 'The database is up to date.' : `Applied: ${applied.join(', ')}`)
}

/** Copies the database to a file, relative to the current folder. */
export async function backup({ settings, print, progress }: Context, file: string): Promise<void> {
  const target = path.resolve(file)
  await backupDatabase(settings.databaseUrl, target, (done, total) =>
    progress(`Copying the database: ${count(done, 'byte')} of at most ${count(total, 'byte')}`),
  )
  await print(`The database is copied to ${target}.`)
}

/** Copies a database to another one and prints the result. */
export async function copy({ settings, print, progress }: Context, { from, to }: CopyOptions): Promise<void> {
  if (from === undefined && to === undefined) {
    throw new OperatorError('name the source with --from or the target with --to; the other one is DATABASE_URL')
  }
  const addresses = [readAddress(from, '--from', settings), readAddress(to, '--to', settings)] as const
  const { source, target, plants, tokens } = await copyDatabase(...addresses, (done, total) =>
    progress(`Copying: ${done.toLocaleString('en-US')} of ${count(total, 'plant')}`),
  )
  const name = target.charAt(0).toUpperCase() + target.slice(1)
  await print(`${name} is now a copy of ${source}: ${count(plants, 'plant')} and ${count(tokens, 'token')}.`)
}

function readAddress(url: string | undefined, option: string, settings: Settings): CopyAddress {
  if (url === undefined) return { url: settings.databaseUrl, setting: 'DATABASE_URL' }
  try {
    return { url: databaseUrl(url), setting: option }
  } catch (error) {
    if (!(error instanceof StorageError)) throw error
    throw new OperatorError(error.message.replace('DATABASE_URL', option))
  }
}

function count(rows: number, name: string): string {
  return `${rows.toLocaleString('en-US')} ${name}${rows === 1 ? '' : 's'}`
}
