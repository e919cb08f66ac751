import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'

/** What the tests need of a service of compose.yaml. */
interface ComposeService {
  image: string
  command?: string[]
  environment?: Record<string, string>
}

/** Reads compose.yaml. */
export function readComposeFile(): { services: Record<string, ComposeService> } {
  const file = fileURLToPath(new URL('../../../compose.yaml', import.meta.url))
  return parse(readFileSync(file, 'utf8'), { merge: true })
}
