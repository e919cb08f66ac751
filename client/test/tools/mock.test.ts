/** A mock of the document, by Prism, responds as the service would. */
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { createOpenApiDocument } from '@plant-store/contract/openapi'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { INSTALL_TIMEOUT } from '../../../test/helpers/install-tools.ts'
import { temporaryFolder } from '../../../test/helpers/temporary-folder.ts'
import { createPlantStoreClient, errorCodes } from '../../src/index.ts'
import { type Prism, startPrism } from '../helpers/prism.ts'

describe('a mock of the document', () => {
  let prism: Prism
  beforeAll(async () => {
    const file = path.join(temporaryFolder(), 'openapi.json')
    await writeFile(file, JSON.stringify(createOpenApiDocument()))
    prism = await startPrism('mock', file)
  }, INSTALL_TIMEOUT)
  afterAll(() => prism[Symbol.asyncDispose]())

  /** Calls the mock; `Prefer` chooses among the responses of the document. */
  async function get(prefer: string | undefined, headers: Record<string, string> = { authorization: 'Bearer a' }) {
    return await fetch(`${prism.url}/plants`, { headers: { ...headers, ...(prefer !== undefined && { prefer }) } })
  }

  test('responds 401 with 40101 to a request without a token', async () => {
    const response = await get(undefined, {})
    expect(response.status).toBe(401)
    expect(await response.json()).toMatchObject({ error: errorCodes.tokenMissing })
    expect(response.headers.get('www-authenticate')).toMatch(/^Bearer/)
  })

  test('responds with the error of each status, and with each of its examples', async () => {
    expect(await (await get('code=400')).json()).toMatchObject({ error: errorCodes.badRequest })
    expect(await (await get('code=401, example=tokenEnded')).json()).toMatchObject({ error: errorCodes.tokenEnded })
    const response = await get('code=503')
    expect(await response.json()).toMatchObject({ error: errorCodes.unavailable })
    expect(response.headers.get('retry-after')).toMatch(/^\d+$/)
  })

  test('can be called through the SDK', async () => {
    const client = createPlantStoreClient({ baseUrl: prism.url, token: 'pst_mock' })
    expect(await client.createPlant({ id: 1, name: '🌱' })).toEqual({ name: 'Monstera deliciosa', tag: 'aroid' })
    expect(await client.getPlants({ limit: 1 })).toEqual([{ name: 'Monstera deliciosa', tag: 'aroid' }])
  })
})
