// Prints what an editor shows for expressions, as JSON. Usage: node hover.mjs TYPESCRIPT_LIBRARY EXPRESSION...
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import process from 'node:process'

const [library, ...expressions] = process.argv.slice(2)
const { default: ts } = await import(library)
const file = path.resolve('hover.mts')
const head = `import type { PlantStoreClient } from '@plant-store/client'\ndeclare const client: PlantStoreClient\n`
const text = head + expressions.join('\n')
writeFileSync(file, text)
const service = ts.createLanguageService({
  ...ts.sys,
  useCaseSensitiveFileNames: () => true,
  getScriptFileNames: () => [file],
  getScriptVersion: () => '1',
  getScriptSnapshot: (name) => ts.ScriptSnapshot.fromString(ts.sys.readFile(name) ?? ''),
  getCompilationSettings: () => ({ module: ts.ModuleKind.NodeNext, strict: true }),
  getDefaultLibFileName: ts.getDefaultLibFilePath,
})
const hovers = expressions.map((expression) => {
  const end = text.indexOf(`\n${expression}`) + expression.length
  const { displayParts, documentation } = service.getQuickInfoAtPosition(file, end)
  return [expression, ts.displayPartsToString([...displayParts, ...documentation])]
})
console.log(JSON.stringify(Object.fromEntries(hovers)))
