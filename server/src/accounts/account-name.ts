const SHAPE = /^[\p{L}\p{M}\p{N}\p{P}\p{S}](?:[\p{L}\p{M}\p{N}\p{P}\p{S} ]{0,198}[\p{L}\p{M}\p{N}\p{P}\p{S}])?$/u

/** Whether text can name an account: people can read and type it, and JSON, SQL and terminals keep it. */
export function isAccountName(text: string): boolean {
  return SHAPE.test(text)
}
