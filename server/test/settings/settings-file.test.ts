import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
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

test.each([
  ['PORT=1\nHOST=::1\n\texport PORT = 1\n', 'sets PORT twice: remove one of the lines'],
  [Buffer.from('\uFEFFPORT=8090\n', 'utf16le'), 'is not text in UTF-8: save it as that'],
  [Buffer.from('JWT_AUDIENCE=plänts\n', 'latin1'), 'is not text in UTF-8: save it as that'],
])('%j is rejected', (content, reason) => {
  const file = write(content)
  expect(() => readSettingsFile(file)).toThrow(new OperatorError(`${file} ${reason}`))
})

test('a missing file has no settings; one that cannot be read is named', () => {
  const file = path.join(temporaryFolder(), '.env')
  expect(readSettingsFile(file)).toEqual({})
  mkdirSync(file)
  const reason = 'cannot be read (EISDIR): it must be a file that this user may read'
  expect(() => readSettingsFile(file)).toThrow(new OperatorError(`${file} ${reason}`))
})
