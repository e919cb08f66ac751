import { expect, onTestFinished, test } from 'vitest'
import { query } from '../../../test/helpers/database/sqlite.ts'
import { temporaryDatabase } from '../../../test/helpers/temporary-folder.ts'
import { migrateDatabase, openDatabase } from '../../src/index.ts'
import { openNewClient } from '../helpers/open-client.ts'

const plant = (id: string) => ({ account: 'alice', id, name: `plant ${id}`, tag: null })

test('a transaction of Prisma Client is rejected and writes nothing', async () => {
  const { prisma, file } = await openNewClient()
  const creates = [prisma.plant.create({ data: plant('1') }), prisma.plant.create({ data: plant('2') })]
  await expect(prisma.$transaction(creates)).rejects.toThrow('Transactions are not supported')
  await expect(prisma.$transaction(async () => {})).rejects.toThrow('Transactions are not supported')

  await prisma.plant.create({ data: plant('3') })
  expect(query(file, 'SELECT id FROM Plant')).toEqual([{ id: '3' }])
})

test('no operation of a database opens a transaction', async () => {
  const { url } = temporaryDatabase()
  await migrateDatabase(url)
  const { plants, tokens, secret, isEmpty, whyUnavailable, close } = await openDatabase(url)
  onTestFinished(close)
  expect(await isEmpty()).toBe(true)
  const token = { id: 'a', hash: 'b', account: 'alice', scopes: ['read', 'write'], label: null, expiresAt: null }
  const created = await tokens.create(token)
  const { hash, ...stored } = token
  expect(created).toEqual({ ...stored, createdAt: expect.any(Date), revokedAt: null })
  expect(await tokens.list('alice')).toEqual([created])
  const revoked = { ...created, revokedAt: expect.any(Date) }
  expect(await tokens.revoke('a')).toEqual(revoked)
  expect(await tokens.find(hash)).toEqual(revoked)
  expect(await tokens.revoke('unknown')).toBeUndefined()

  expect(await plants.insert([plant('1')])).toBe(1)
  expect(await plants.insert([plant('1'), plant('2')])).toBe(1)
  expect(await plants.find([plant('2'), plant('3')])).toEqual([plant('2')])
  const { pieces, last, more } = await plants.list('alice', { limit: 1 })
  expect(await pieces.next()).toEqual({ done: false, value: '[{"name":"plant 1"}]' })
  expect({ last, more }).toEqual({ last: 1, more: true })
  expect(await secret('cursor')).toHaveLength(32)
  expect(await whyUnavailable()).toBeUndefined()
  expect(await isEmpty()).toBe(false)
})
