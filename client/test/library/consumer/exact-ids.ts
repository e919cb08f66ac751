/**
 * Sends ids over the range of int64 to a library and compares them with what comes back. Arguments: URL, token, URL of a
 * closed port.
 */
import { createPlantStoreClient } from '@plant-store/client'

const [baseUrl = '', token = '', closedUrl = ''] = process.argv.slice(2)
const client = createPlantStoreClient({ baseUrl, token })

const limits = [0, 31, 32, 52, 53, 54, 62].map((bits) => 2n ** BigInt(bits))
const near = limits.flatMap((limit) => [limit - 1n, limit, limit + 1n, -limit - 1n, -limit, 1n - limit])
const ids = new Set([...near, -(2n ** 63n), 2n ** 63n - 1n])
// A fixed sequence of random numbers (Knuth's MMIX), the same on every runtime.
for (
  let id = 1n;
  ids.size < 302;
  id = BigInt.asIntN(64, id * 6_364_136_223_846_793_005n + 1_442_695_040_888_963_407n)
) {
  ids.add(id)
}

const book = { title: 'Kindred', genre: 'novel', authors: [], price: 1 } as const
for (const id of ids) {
  const result = await client.putBook({ id }, book)
  if (!('created' in result) || result.created.id !== id) throw new Error(`putBook: ${id} is not exact`)
}
const { recent, grid } = await client.getStatistics()
for (const list of [recent, grid[0]]) {
  if (String(list) !== String([...ids])) throw new Error('getStatistics: the ids are not exact')
}

// After "connection refused" a loan may be sent again: it certainly did not arrive.
const closed = client.withOptions({ fetch: (_, init) => fetch(closedUrl, init) })
const { error } = await closed.safe.borrowBook({ book: 1, member: 'Ada' })

console.log(`${ids.size} ids are exact; ${error?.attempts} attempts on a closed port`)
