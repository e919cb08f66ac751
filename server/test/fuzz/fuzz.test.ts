/** Requests of all kinds, most of them mutated at random, against a model; and JSON that parsers disagree about. */
import { expect, test } from 'vitest'
import { isLong } from '../../../test/helpers/long-tests.ts'
import { startTestServer } from '../../../test/helpers/server/start-test-server.ts'
import { type AccountFuzzer, createAccountFuzzer } from './fuzz-account.ts'
import { accepted, eitherWay, rejected } from './json-corpus.ts'
import { createRandom } from './random.ts'
import { startFuzzedServer } from './start-fuzzed-server.ts'

const REQUESTS = isLong ? 100_000 : 3_000
const ACCOUNTS = 32
const BODY_LIMIT = 16_384
/** How much the cached lists and the code may grow in the last two thirds of the requests, in bytes. */
const HEAP_GROWTH = 24 * 2 ** 20
const seed = Number(process.env['PLANT_STORE_FUZZ_SEED'] || Math.floor(Math.random() * 2 ** 31))

test(`${REQUESTS} valid and mutated requests get the responses that the model predicts, without a 5xx or a hang`, async () => {
  console.log(`PLANT_STORE_FUZZ_SEED=${seed} sends these requests again.`)
  await using server = await startFuzzedServer(ACCOUNTS, BODY_LIMIT)
  const { url } = server
  const fuzzers = server.tokens.map((tokens, index) =>
    createAccountFuzzer({ url, tokens, random: createRandom(seed + index), bodyLimit: BODY_LIMIT }),
  )
  const heaps: number[] = []
  for (const third of [1, 2, 3]) {
    const enough = (REQUESTS / ACCOUNTS / 3) * third
    await Promise.all(fuzzers.map((fuzzer, index) => runUntil(fuzzer, enough, index)))
    heaps.push(await server.heapUsed())
  }
  await Promise.all(fuzzers.map((fuzzer) => fuzzer.finish()))

  const sent = fuzzers.reduce((sum, fuzzer) => sum + fuzzer.sent, 0)
  console.log(`${sent} requests; heap in MB: ${heaps.map((heap) => Math.round(heap / 2 ** 20)).join(', ')}`)
  expect(sent).toBeGreaterThanOrEqual(REQUESTS)
  expect((heaps[2] ?? 0) - (heaps[0] ?? 0)).toBeLessThan(HEAP_GROWTH)
}, 600_000)

async function runUntil(fuzzer: AccountFuzzer, requests: number, account: number): Promise<void> {
  try {
    while (fuzzer.sent < requests) await fuzzer.step()
  } catch (error) {
    throw new Error(`with PLANT_STORE_FUZZ_SEED=${seed}, account ${account}, request ${fuzzer.sent}:`, { cause: error })
  }
}

test('JSON that every parser must accept is accepted, and what none may accept gets a 400', async () => {
  await using server = await startTestServer()
  const responseTo = async (body: string | Uint8Array) => {
    const response = await server.post(body)
    return {
      body: Buffer.from(body).toString('latin1'),
      status: response.status,
      ...((await response.json()) as object),
    }
  }
  let id = 0
  for (const text of accepted) {
    expect(await responseTo(text)).toMatchObject({ status: 400, error: 40002 })
    expect(await responseTo(`{"id":${id++},"name":"","other":${text}}`)).toMatchObject({ status: 200, name: '' })
  }
  for (const text of rejected) expect(await responseTo(text)).toMatchObject({ status: 400, error: 40001 })
  for (const text of eitherWay) {
    expect([40001, 40002]).toContain(((await responseTo(text)) as { error?: number }).error)
  }
  expect(((await (await server.call('/plants')).json()) as unknown[]).length).toBe(id)
})
