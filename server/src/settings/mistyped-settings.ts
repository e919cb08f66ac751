import { settingsTable } from './table.ts'

/** A variable that is not a setting, and the setting whose name it resembles; for NODE_ENV, both with their values. */
export interface MistypedSetting {
  readonly variable: string
  readonly setting: string
}

/** Names shorter than this resemble too many others: PORT and HOST are one letter from POST. */
const MIN_EDIT_LENGTH = 6

/** Finds the variables whose name is one typing mistake from the name of a setting. */
export function findMistypedSettings(environment: Readonly<Record<string, string | undefined>>): MistypedSetting[] {
  const settings = Object.keys(settingsTable)
  const others = Object.keys(environment).filter((name) => environment[name] !== undefined && !(name in settingsTable))
  const mistyped = others.flatMap((variable) => {
    const setting = settings.find((name) => isMistyped(variable.toUpperCase(), name))
    return setting === undefined ? [] : [{ variable, setting }]
  })
  const { NODE_ENV: mode = '' } = environment
  if (!resemblesProduction(mode)) return mistyped
  return [...mistyped, { variable: `NODE_ENV=${mode}`, setting: 'NODE_ENV=production' }]
}

/** Any other value means that this is not production, so a mistake would go unnoticed. Quotes come from files for Docker. */
function resemblesProduction(mode: string): boolean {
  const bare = mode.replaceAll(/[\s'"]/g, '').toUpperCase()
  return mode !== 'production' && (/^PRO?D$/.test(bare) || isMistyped(bare, 'PRODUCTION'))
}

/** Returns whether a text is a name with two letters swapped, or, of a long name, one letter too many, missing or wrong. */
function isMistyped(text: string, name: string): boolean {
  if (text === name) return true
  let start = 0
  while (start < name.length && text[start] === name[start]) start++
  let end = 0
  while (end < Math.min(text.length, name.length) - start && text.at(-1 - end) === name.at(-1 - end)) end++
  const typed = text.slice(start, text.length - end)
  const meant = name.slice(start, name.length - end)
  if (typed.length === 2 && meant.length === 2) return typed[0] === meant[1] && typed[1] === meant[0]
  return name.length >= MIN_EDIT_LENGTH && typed.length <= 1 && meant.length <= 1
}

/** Says in a sentence what to do about a variable. */
export function describeMistyped({ variable, setting }: MistypedSetting): string {
  return `${variable} is not a setting: did you mean ${setting}?`
}
