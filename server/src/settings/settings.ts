import type * as z from 'zod'
import { type SettingEntry, settingsTable } from './table.ts'

type Table = typeof settingsTable
type CamelCase<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Lowercase<Head>}${Capitalize<CamelCase<Tail>>}`
  : Lowercase<Name>
type Value<Entry extends SettingEntry> =
  | z.output<Entry['format']>
  | (Entry extends { default: string } ? never : undefined)
type Values = { [Name in keyof Table as CamelCase<Name>]: Value<Table[Name]> }

/** The settings, checked: an entry of {@link settingsTable} each. Times are in milliseconds, sizes in bytes. */
export interface Settings extends Values {
  maxBodyMemory: number
}

/** The environment variables that settings are read from. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Settings are invalid. The message names each, and what it must be. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'
}

const DEFAULT_BODY_MEMORY = 64 * 2 ** 20
/** How many bodies of the largest size fit into the default of `MAX_BODY_MEMORY`. */
const BODIES = 4
const ISSUER_SETTINGS = ['JWT_ISSUER', 'JWT_AUDIENCE', 'JWT_JWKS_URL']

/**
 * Reads the settings from the environment; an empty variable counts as not set.
 *
 * @throws SettingsError that names every mistake
 */
export function readSettings(environment: Environment): Settings {
  const mistakes: string[] = []
  const entries = Object.entries<SettingEntry>(settingsTable).map(([name, entry]) => {
    const text = environment[name] || entry.default
    if (text === undefined) return [toCamelCase(name), undefined]
    const { data, error } = entry.format.safeParse(text)
    for (const { message } of error?.issues ?? []) mistakes.push(`${name} ${message}`)
    return [toCamelCase(name), data]
  })
  const values: Values = Object.fromEntries(entries)
  if (mistakes.length === 0) mistakes.push(...findContradictions(environment, values))
  mistakes.push(...findMissing(environment))
  if (mistakes.length > 0) {
    throw new SettingsError(`Fix these settings and start again:\n${mistakes.map((line) => `  ${line}`).join('\n')}`)
  }
  return addDependentDefaults(values)
}

/** Completes settings that are set in code with the defaults. */
export function completeSettings(settings: Partial<Settings>): Settings {
  return addDependentDefaults({ ...readSettings({}), maxBodyMemory: undefined, ...settings })
}

/** Adds the default that depends on another setting, and shortens times to those that they are part of. */
function addDependentDefaults(values: Values): Settings {
  const { bodyLimit, headersTimeout, requestTimeout, shutdownDelay, shutdownTimeout } = values
  return {
    ...values,
    maxBodyMemory: values.maxBodyMemory ?? Math.max(DEFAULT_BODY_MEMORY, BODIES * bodyLimit),
    headersTimeout: Math.min(headersTimeout, requestTimeout),
    shutdownDelay: Math.min(shutdownDelay, shutdownTimeout),
  }
}

function toCamelCase(name: string): string {
  return name.toLowerCase().replace(/_(.)/g, (_match, letter: string) => letter.toUpperCase())
}

/** Returns a warning about a NODE_ENV that looks like production and is not. Quotes come from files for Docker. */
export function findMistakenMode({ NODE_ENV: mode = '' }: Environment): string | undefined {
  if (mode === 'production' || !/^\W*pro?d/i.test(mode)) return undefined
  return `NODE_ENV=${mode} is not NODE_ENV=production: what holds in production does not hold here`
}

function findMissing(environment: Environment): string[] {
  const missing: string[] = []
  // The default would be a new, empty database where the setting was lost.
  if (environment['NODE_ENV'] === 'production' && !environment['DATABASE_URL']) {
    const examples = 'file:/srv/plants.db or postgresql://localhost/plants'
    missing.push(`DATABASE_URL must be set with NODE_ENV=production, such as ${examples}`)
  }
  // Without one of an issuer's settings, tokens that are meant for other services would be accepted.
  const present = ISSUER_SETTINGS.find((name) => environment[name])
  if (present === undefined) return missing
  const others = ISSUER_SETTINGS.filter((name) => !environment[name])
  return [...missing, ...others.map((name) => `${name} must be set too, since ${present} is`)]
}

/** Finds settings that are more than the one they are part of; a default is shortened instead. */
function findContradictions(environment: Environment, values: Values): string[] {
  const parts = [
    ['HEADERS_TIMEOUT', values.headersTimeout, 'REQUEST_TIMEOUT', values.requestTimeout],
    ['SHUTDOWN_DELAY', values.shutdownDelay, 'SHUTDOWN_TIMEOUT', values.shutdownTimeout],
    ['BODY_LIMIT', values.bodyLimit, 'MAX_BODY_MEMORY', values.maxBodyMemory],
  ] as const
  return parts.flatMap(([part, value, whole, max = Number.POSITIVE_INFINITY]) => {
    const { default: text }: SettingEntry = settingsTable[whole]
    const isAllowed = !environment[part] || value <= max
    return isAllowed ? [] : [`${part} must be at most ${whole}, which is ${environment[whole] || text}`]
  })
}
