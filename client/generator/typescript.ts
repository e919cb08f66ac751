import type { Literal } from '@plant-store/contract/openapi'

/** Writes the name of a property, in quotes if it needs them. */
export function propertyName(name: string): string {
  return /^[a-z_$][\w$]*$/i.test(name) ? name : literal(name)
}

/** Writes a literal in TypeScript. */
export function literal(value: Literal): string {
  if (typeof value !== 'string') return String(value)
  return `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
}

/** Turns `createPlant` into `CreatePlant`. */
export function capitalized(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1)
}

/** Writes a union of types. */
export function union(members: readonly string[]): string {
  return [...new Set(members)].join(' | ') || 'never'
}

/** Imports the functions that code uses, and no others, so that a bundle has nothing else. */
export function generateImports(code: string, modules: Readonly<Record<string, readonly string[]>>): string {
  const imports = Object.entries(modules).map(([file, names]) => {
    const used = names.filter((name) => new RegExp(`\\b${name}\\b[,()<>[\\]\\s]`).test(code))
    return used.length > 0 ? `import { ${used.join(', ')} } from '${file}'\n` : ''
  })
  return imports.join('')
}

/** Formats a JSDoc comment, with line breaks. */
export function comment(text: string, indent: string): string {
  // Up to the width, or a longer word.
  const part = new RegExp(`.{1,${115 - indent.length}}( |$)|\\S+ ?`, 'g')
  const lines = text.split('\n').flatMap((line) => line.replaceAll('*/', '*\\/').match(part) ?? [''])
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd()).join('\n')}\n${indent} */\n`
}
