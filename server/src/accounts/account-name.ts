const SHAPE = /^[\p{L}\p{M}\p{N}\p{P}\p{S}](?:[\p{L}\p{M}\p{N}\p{P}\p{S} ]{0,198}[\p{L}\p{M}\p{N}\p{P}\p{S}])?$/u

/** Whether a text can name an account: one that a person can read and type, and that JSON, SQL and a terminal keep. */
export function isAccountName(text: string): boolean {
  return SHAPE.test(text)
}
