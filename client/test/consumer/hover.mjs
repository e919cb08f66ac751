// Prints what an editor shows for an expression. Usage: node hover.mjs TYPESCRIPT_LIBRARY EXPRESSION
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import process from 'node:process'

const [library, expression] = process.argv.slice(2)
const { default: ts } = await import(library)
const file = path.resolve('hover.mts')
const text = `import type { PlantStoreClient } from '@plant-store/client'\ndeclare const client: PlantStoreClient\n${expression}`
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
const { displayParts, documentation } = service.getQuickInfoAtPosition(file, text.length - 1)
console.log(ts.displayPartsToString([...displayParts, ...documentation]))
