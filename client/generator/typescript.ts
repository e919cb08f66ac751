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
  return Object.entries(modules)
    .map(
      ([file, names]) => [file, names.filter((name) => new RegExp(`\\b${name}\\b[,()<>[\\]\\s]`).test(code))] as const,
    )
    .map(([file, names]) => (names.length > 0 ? `import { ${names.join(', ')} } from '${file}'\n` : ''))
    .join('')
}

/** Formats a JSDoc comment, with line breaks. */
export function comment(text: string, indent: string): string {
  const lines = text.split('\n').flatMap((line) => wrap(line.replaceAll('*/', '*\\/'), 115 - indent.length))
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd()).join('\n')}\n${indent} */\n`
}

function wrap(line: string, width: number): string[] {
  const lines: string[] = ['']
  for (const word of line.split(' ')) {
    const last = lines.at(-1) ?? ''
    if (last !== '' && last.length + 1 + word.length > width) lines.push(word)
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`
  }
  return lines
}
