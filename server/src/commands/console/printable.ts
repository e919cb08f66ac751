/**
 * Control characters, terminal escapes among them, line separators, and characters that are invisible or change the order
 * of what follows. The joiners of scripts and emoji are left.
 */
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]|(?!\u200c|\u200d)\p{Cf}/gu

/** Makes text of others safe for a terminal: what it does not show as a character becomes an escape such as `\u001b`. */
export function toPrintable(text: string): string {
  return text.replace(UNPRINTABLE, (character) =>
    [...Array(character.length).keys()]
      .map((index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`)
      .join(''),
  )
}

/** Formats a value as JSON that is safe for a terminal: the escapes are those of JSON, so it parses to the same value. */
export function formatJson(value: unknown): string {
  return JSON.stringify(value, null, 2).split('\n').map(toPrintable).join('\n')
}
