/** What README.md at the root says to type, typed. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Service, startService } from './helpers/start-service.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../', import.meta.url))
const readme = readFileSync(`${root}README.md`, 'utf8')

/** The code blocks of a language, in order. */
function blocks(language: string): string[] {
  return [...readme.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(([, code = '']) => code)
}

let service: Service
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service[Symbol.asyncDispose]())

function environment(extra: Record<string, string> = {}): NodeJS.ProcessEnv {
  const { PATH, HOME } = process.env
  return { PATH, HOME, DATABASE_URL: service.databaseUrl, ...extra }
}

test('the curl call with a token of one’s own answers what stands below it', async () => {
  const [call = ''] = blocks('sh').filter((code) => code.includes('curl'))
  const [answer = ''] = blocks('json')
  const script = call.replaceAll('http://127.0.0.1:3000', service.url)
  expect(script).toContain('token create')
  const { stdout } = await run('sh', ['-e', '-c', script], { cwd: root, env: environment() })
  expect(stdout.trim()).toBe(answer.trim())
})

test('the TypeScript snippet runs as written', async () => {
  const [snippet = ''] = blocks('ts')
  const code = snippet.replaceAll('http://127.0.0.1:3000', service.url)
  const token = await service.createToken({ account: 'readme' })
  const args = [
    '--import',
    import.meta.resolve('tsx'),
    '--conditions=@plant-store/source',
    '--input-type=module',
    '-e',
    code,
  ]
  const { stdout } = await run(process.execPath, args, {
    cwd: `${root}client/example`,
    env: environment({ PLANT_STORE_TOKEN: token }),
  })
  expect(stdout).toMatch(/^Monstera deliciosa aroid\n400 40003 POST .*id: is taken by another plant/)
})

test('every script that it names exists', () => {
  const { scripts } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'))
  const named = [...readme.matchAll(/`(?:pnpm|npm run --silent) ([a-z][\w-]*)/g)].map(([, name]) => name)
  expect(named.length).toBeGreaterThan(5)
  for (const name of named) expect(scripts).toHaveProperty([name ?? ''])
})

test('every setting of .env.example is in its table, with the same default', () => {
  const example = readFileSync(`${root}.env.example`, 'utf8')
  const settings = [...example.matchAll(/^(# )?([A-Z_]+)=(.*)$/gm)]
  expect(settings.length).toBeGreaterThan(5)
  for (const [, comment, name, value] of settings) {
    expect(readme).toMatch(
      new RegExp(`^\\| \`${name}\` \\| ${comment ? '' : `\`${value?.replaceAll('.', '\\.')}\``}`, 'm'),
    )
  }
})
