import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { root } from '../../../test/helpers/programs.ts'
import { temporaryFolder } from '../../../test/helpers/temporary.ts'
import { OperatorError } from '../../src/index.ts'
import { readSettingsFile } from '../../src/settings-file.ts'

function write(content: string | Buffer): string {
  const file = path.join(temporaryFolder(), '.env')
  writeFileSync(file, content)
  return file
}

test.each([
  ['a byte order mark', '\uFEFFPORT=8090\nHOST=::1\n', { PORT: '8090', HOST: '::1' }],
  ['signs in a value', `A=a=b\nB='5$'\nC="#/ä?b"\nD=$HOME`, { A: 'a=b', B: '5$', C: '#/ä?b', D: '$HOME' }],
])('%s: are read as by Node.js', (_what, text, expected) => {
  expect({ ...readSettingsFile(write(text)) }).toEqual(expected)
})

test.each(['.env.example', 'docs/production/plant-store.env'])('%s can be read', (name) => {
  expect(readSettingsFile(root + name)['DATABASE_URL']).toMatch(/^file:/)
})

test('a missing file has no settings; one that cannot be read, or is not UTF-8, is named', () => {
  const file = path.join(temporaryFolder(), '.env')
  expect(readSettingsFile(file)).toEqual({})
  const rejects = (name: string, code: string) => {
    const reason = `cannot be read (${code}): it must be text in UTF-8 that this user may read`
    expect(() => readSettingsFile(name)).toThrow(new OperatorError(`${name} ${reason}`))
  }
  for (const encoding of ['utf16le', 'latin1'] as const) {
    rejects(write(Buffer.from('\uFEFFJWT_AUDIENCE=plänts\n', encoding)), 'ERR_ENCODING_INVALID_ENCODED_DATA')
  }
  mkdirSync(file)
  rejects(file, 'EISDIR')
})
