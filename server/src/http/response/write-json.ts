/** Writes a body as JSON text, as `JSON.stringify` does, which throws on a bigint: here it is an exact number. */
export function writeJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? 'null'
  } catch {
    return writeExactly(value)
  }
}

function writeExactly(value: unknown): string {
  if (typeof value === 'bigint') return String(value)
  if (typeof value !== 'object' || value === null || 'toJSON' in value) return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map(writeExactly).join()}]`
  const members: string[] = []
  for (const [name, member] of Object.entries(value)) {
    if (member !== undefined) members.push(`${JSON.stringify(name)}:${writeExactly(member)}`)
  }
  return `{${members.join()}}`
}
