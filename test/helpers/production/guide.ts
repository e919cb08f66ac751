import { type SpawnOptions, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { requireInCi } from '../long-tests.ts'
import { root, runToSuccess } from '../programs.ts'

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

/** Runs commands from the root of the repository until one fails, and returns what they print. */
export function shell(script: string, options: SpawnOptions = {}): Promise<string> {
  return runToSuccess(['bash', '-euc', script], { cwd: root, ...options })
}

/** Returns whether a program is installed, as it has to be in CI. */
export function isInstalled(program: string): boolean {
  return requireInCi(program, spawnSync('which', [program]).status === 0)
}
