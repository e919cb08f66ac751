import { execFile, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { requireInCi } from '../long-tests.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
/** The folder docs/production. */
export const GUIDES = `${root}docs/production/`

/** Reads a file of docs/production. */
export function readGuide(name: string): string {
  return readFileSync(GUIDES + name, 'utf8')
}

/** Finds the text of a code block of a section. */
export function codeBlock(guide: string, section: string, block = 0, language = 'sh'): string {
  const [, text = ''] = guide.split(`\n## ${section}\n`)
  const found = codeBlocks(text.split('\n## ')[0] ?? '', language)[block]
  if (found === undefined) throw new Error(`no block ${block} of ${language} under ${section}`)
  return found
}

/** Lists the code blocks of a text. */
export function codeBlocks(text: string, language = 'sh'): string[] {
  return [...text.matchAll(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 'gs'))].map(([, code = '']) => code)
}

/** Where and how to run commands. */
export interface ShellOptions {
  env?: NodeJS.ProcessEnv
  cwd?: string
  uid?: number
  gid?: number
}

/** Runs commands from the root of the repository until one fails, and returns what they print. */
export async function shell(script: string, options: ShellOptions = {}): Promise<string> {
  const { stdout } = await promisify(execFile)('bash', ['-euc', script], { cwd: root, ...options })
  return stdout
}

/** Returns whether a program is installed, as it has to be in CI. */
export function isInstalled(program: string): boolean {
  const found = spawnSync('which', [program]).status === 0
  requireInCi(program, found)
  return found
}
