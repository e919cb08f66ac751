import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'

/** What the tests need of a service of compose.yaml. */
interface ComposeService extends Record<string, unknown> {
  command?: string[]
  environment?: Record<string, string>
  ports?: string[]
  volumes?: string[]
  networks?: Record<string, { ipv4_address: string }> | string[]
  depends_on?: Record<string, { condition: string }>
  healthcheck?: { test?: string[] }
}

/** Reads compose.yaml. */
export function readComposeFile(): { services: Record<string, ComposeService>; volumes: Record<string, unknown> } {
  const file = fileURLToPath(new URL('../../../compose.yaml', import.meta.url))
  return parse(readFileSync(file, 'utf8'), { merge: true })
}
