import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'

/** A service of compose.yaml. */
export interface ComposeService {
  image: string
  profiles?: string[]
  command?: string[]
  environment?: Record<string, string>
  ports?: string[]
  volumes?: string[]
  networks?: Record<string, { ipv4_address: string }> | string[]
  depends_on?: Record<string, { condition: string }>
  healthcheck?: { test?: string[]; disable?: boolean }
  [name: string]: unknown
}

/** Reads compose.yaml. */
export function readComposeFile(): { services: Record<string, ComposeService>; volumes: Record<string, unknown> } {
  const file = fileURLToPath(new URL('../../../compose.yaml', import.meta.url))
  return parse(readFileSync(file, 'utf8'), { merge: true })
}
