/** The page of the recipes compared with what runs them. */
import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'

const read = (file: string) => readFile(new URL(file, import.meta.url), 'utf8')
const names = {
  React: 'react',
  'TanStack Query': '@tanstack/react-query',
  'Next.js': 'next',
  MSW: 'msw',
  Jest: 'jest',
  Vitest: 'vitest',
  undici: 'undici',
}

test('the page names the versions that its tests install', async () => {
  const [introduction = ''] = (await read('../../docs/recipes.md')).split('\n## ')
  const { dependencies } = JSON.parse(await read('package.json'))
  for (const [name, dependency] of Object.entries(names)) {
    expect(introduction).toMatch(new RegExp(`${name}\\s${Number.parseInt(dependencies[dependency], 10)}[,.]`))
  }
  const [, year, month] = /^1\.(\d{4})(\d\d)/.exec(dependencies.workerd) ?? []
  expect(introduction).toContain(`workerd ${year}-${month}`)
})
