/** Writes the name of a property, in quotes if it needs them. */
export function propertyName(name: string): string {
  return /^[a-z_$][\w$]*$/i.test(name) ? name : literal(name)
}

/** Writes a literal in TypeScript. */
export function literal(value: string): string {
  return `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
}

/** Formats a JSDoc comment, with line breaks; none for an empty text. */
export function comment(text: string, indent: string): string {
  if (text === '') return ''
  // Up to the width, or a longer word.
  const part = new RegExp(`.{1,${115 - indent.length}}( |$)|\\S+ ?`, 'g')
  const lines = text.split('\n').flatMap((line) => line.replaceAll('*/', '*\\/').match(part) ?? [''])
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd()).join('\n')}\n${indent} */\n`
}
