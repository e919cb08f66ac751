/** Runs each row of the tables in `contract/README.md`: what a contract can express, and what is rejected. */
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import querystring from 'node:querystring'
import { type AppRouteMutation, initContract, type RouterOptions } from '@ts-rest/core'
import express, { type Express, type RequestHandler } from 'express'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as z from 'zod'
import { createProject, expectToCompile, generateFrom } from '../helpers/generated-sdk.ts'
import { startTinyServer, type TinyServer } from '../helpers/tiny-server.ts'
import { evaluate, readTable } from './readme-tables.ts'
import { parseJson } from './server.ts'

const c = initContract()

/** The operation that the rows change. */
const getBed = { method: 'GET', path: '/beds', responses: { 200: z.string() }, metadata: { scope: 'read' } }

const values = await evaluate(
  readTable('Values in bodies').flatMap(([expressions = [], request = [], response = [], texts = []]) =>
    expressions.map((expression, index) => {
      const text = texts[index] ?? texts[0]
      const json = text === undefined ? '{}' : `{"value":${text}}`
      return { expression, request: request[0], response: response[0], json }
    }),
  ),
)

const parameters = await evaluate(
  readTable('Parameters').flatMap(([places = [], expressions = [], types = [], given = [], sent = []]) =>
    expressions.map((expression) => ({
      ...{ place: String(places[0]), expression, type: String(types[0]) },
      ...{ given: String(given[0]), sent: sent[0] },
    })),
  ),
)

const [fields = [], options = []] = await Promise.all(
  ['Fields of an operation', 'Options of `c.router()`'].map((heading) =>
    evaluate(
      readTable(heading).flatMap(([expressions = [], texts = []]) =>
        expressions.map((expression) => ({ expression, texts })),
      ),
    ),
  ),
)

const rejections = await evaluate(
  readTable('Rejected').flatMap(([places = [], expressions = [], messages = []]) =>
    expressions.flatMap((expression) =>
      places.map((place) => ({ place, expression, message: messages[0] ?? 'no message' })),
    ),
  ),
)

/** What ts-rest knows: without a new name of it, this does not compile. */
const routeFields: Record<keyof AppRouteMutation, true> = {
  ...{ method: true, path: true, pathParams: true, query: true, headers: true, body: true, contentType: true },
  ...{ responses: true, summary: true, description: true, deprecated: true, metadata: true },
  ...{ strictStatusCodes: true, validateResponseOnClient: true },
}
const routerOptions: Record<keyof RouterOptions, true> = {
  ...{ pathPrefix: true, baseHeaders: true, commonResponses: true, metadata: true },
  ...{ strictStatusCodes: true, validateResponseOnClient: true },
}

/** Creates an operation with a value in one place. */
function operationWith(place: string, value: unknown, path: string): object {
  const shape = { value: value as z.ZodType }
  if (place === 'request') {
    return { ...getBed, method: 'POST', path, body: z.object(shape), responses: { 204: c.noBody() } }
  }
  if (place === 'response') return { ...getBed, path, responses: { 200: z.object(shape) } }
  if (place === 'query') return { ...getBed, path, query: z.object(shape) }
  if (place === 'headers') return { ...getBed, path, headers: shape }
  return { ...getBed, path: `${path}/:value`, pathParams: z.object(shape) }
}

/** Applies the options of a router to the operation. */
function routed(options: unknown): { getBed: typeof getBed } {
  return c.router({ getBed } as never, options as object) as never
}

const operations = Object.fromEntries([
  ...values.flatMap(({ result, request, response }, index) => [
    ...(request ? [[`write${index}`, operationWith('request', result, `/value${index}`)]] : []),
    ...(response ? [[`read${index}`, operationWith('response', result, `/value${index}`)]] : []),
  ]),
  ...parameters.map(({ result, place }, index) => [`send${index}`, operationWith(place, result, `/parameter${index}`)]),
])

const program = `
import type { Operations, Thing } from './index.ts'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
function same<A, B>(_equal: Equal<A, B>): void {}

${[
  ...values.flatMap(({ request, response }, index) => [
    request && `same<Parameters<Operations['write${index}']>[0]['value'], ${request}>(true)`,
    response && `same<Awaited<ReturnType<Operations['read${index}']>>['value'], ${response}>(true)`,
  ]),
  ...parameters.map(
    ({ type }, index) => `same<NonNullable<Parameters<Operations['send${index}']>[0]>['value'], ${type}>(true)`,
  ),
].join('\n')}
`

let folder: string
let server: TinyServer
let client: Record<string, (...parameters: unknown[]) => Promise<{ value: unknown }>>
/** What the server responds with. */
let json = '""'

beforeAll(async () => {
  folder = await createProject(generateFrom(operations))
  server = await startTinyServer((response, { method }) => {
    if (method === 'POST') response.writeHead(204).end()
    else response.writeHead(200, { 'content-type': 'application/json' }).end(json)
  })
  const { createPlantStoreClient } = await import(path.join(folder, 'src/index.ts'))
  client = createPlantStoreClient({ baseUrl: server.url, token: 'pst_test', retries: 0 })
})
afterAll(() => server[Symbol.asyncDispose]())

test('every class of zod is in a row', () => {
  const rows = [values, parameters, rejections].flat()
  const traits = new Set(rows.flatMap(({ result }) => (result instanceof z.ZodType ? [...result._zod.traits] : [])))
  const classes = Object.keys(z).filter((name) => /^Zod(?!.*Error$|FirstParty|IssueCode)/.test(name))
  expect(classes.length).toBeGreaterThan(50)
  expect(classes.filter((name) => !traits.has(name))).toEqual([])
})

test.each([
  ['Fields of an operation', routeFields],
  ['Options of `c.router()`', routerOptions],
])('%s: every one of ts-rest is in a row', (heading, names) => {
  const text = readTable(heading).flat(2).join('\n')
  expect(Object.keys(names).filter((name) => !text.includes(`${name}: `))).toEqual([])
})

test('each type is as the table says', async () => {
  await writeFile(path.join(folder, 'src/program.ts'), program)
  await expectToCompile(folder)
})

test.each(values.map((row, index) => ({ ...row, index })))('$expression is $json', async (row) => {
  const { result, request, response, index } = row
  const value = parseJson(row.json)
  if (response) {
    json = row.json
    expect(await client[`read${index}`]?.()).toEqual(value)
  } else expect(() => generateFrom({ getBed: operationWith('response', result, '/beds') })).toThrow('getBed: response')

  if (request) {
    await client[`write${index}`]?.(value)
    expect(server.requests.at(-1)?.body).toBe(row.json)
    expect(z.object({ value: result as z.ZodType }).safeParse(value)).toMatchObject({ success: true })
  } else expect(() => generateFrom({ getBed: operationWith('request', result, '/beds') })).toThrow('getBed: body')
})

test.each(parameters.map((row, index) => ({ ...row, index })))('$expression in $place is sent', async (row) => {
  const [{ result: value } = {}] = await evaluate([{ expression: row.given }])
  await client[`send${row.index}`]?.({ value })
  const { url = '', headers = {} } = server.requests.at(-1) ?? {}
  const rest = url.replace(`/parameter${row.index}`, '')
  expect(row.place === 'headers' ? headers['value'] : rest || undefined).toBe(row.sent)
  // As Express reads it.
  const received: Record<string, unknown> = {
    query: querystring.parse(rest.slice(1))['value'],
    headers: headers['value'],
    pathParams: decodeURIComponent(rest.slice(1)),
  }
  expect((row.result as z.ZodType).safeParse(received[row.place])).toMatchObject({ success: true })
})

describe('a server with the settings of the table', () => {
  const received: unknown[] = []
  const receive: RequestHandler = ({ query, body }, response) => {
    received.push(body ?? query['value'])
    response.status(204).end()
  }
  const strict = express().use(express.json(), receive)
  const loose = express()
    .set('query parser', (text: string) => querystring.parse(text, '&', '=', { maxKeys: 0 }))
    .use(express.json({ strict: false }), receive)

  async function send(app: Express, name: string, ...parameters: unknown[]): Promise<unknown> {
    const listening = app.listen(0, '127.0.0.1')
    await once(listening, 'listening')
    const { port } = listening.address() as AddressInfo
    try {
      const { createPlantStoreClient } = await import(path.join(project, 'src/index.ts'))
      const options = { baseUrl: `http://127.0.0.1:${port}`, token: 'pst_test', retries: 0 }
      await createPlantStoreClient(options)[name](...parameters)
      return received.at(-1)
    } finally {
      listening.closeAllConnections()
      listening.close()
    }
  }

  let project: string
  beforeAll(async () => {
    const list = z.preprocess((value) => [value].flat(), z.array(z.string()))
    const responses = { 204: c.noBody() }
    project = await createProject(
      generateFrom({
        getBeds: { ...getBed, query: z.object({ value: list }), responses },
        nameBed: { ...getBed, method: 'POST', body: z.string(), responses },
      }),
    )
  })

  test('receives more than 1,000 values of a query', async () => {
    const value = Array.from({ length: 1200 }, (_, index) => String(index))
    expect(await send(strict, 'getBeds', { value })).toHaveLength(1000)
    expect(await send(loose, 'getBeds', { value })).toEqual(value)
  })

  test('receives a body that is text', async () => {
    await expect(send(strict, 'nameBed', 'Ficus')).rejects.toMatchObject({ status: 400 })
    expect(await send(loose, 'nameBed', 'Ficus')).toBe('Ficus')
  })
})

test.each(fields)('$expression is in the SDK', ({ result, texts }) => {
  expectTexts(generateFrom({ getBed: { ...getBed, ...(result as object) } }), texts)
})

test.each(options)('c.router() with $expression is in the SDK', ({ result, texts }) => {
  expectTexts(generateFrom({ ...routed(result) }), texts)
})

function expectTexts(generated: Record<string, string>, texts: readonly string[]): void {
  const text = Object.values(generated).join('\n')
  // Comments are wrapped.
  const words = text.replace(/\s+\*?\s*/g, ' ')
  expect(texts).not.toEqual([])
  for (const part of texts) expect(words).toContain(part)
}

test('what the fields and options generate compiles', async () => {
  const cases = [
    ...fields.map(({ result }) => ({ ...getBed, ...(result as object) })),
    ...options.map(({ result }) => routed(result).getBed),
  ]
  const all = cases.map((operation, index) => [
    `operation${index}`,
    { ...operation, path: `/operation${index}${operation.path}` },
  ])
  await expectToCompile(await createProject(generateFrom(Object.fromEntries(all))))
})

test.each(rejections)('$expression in a $place is rejected', ({ place, result, message }) => {
  const operation = place === 'operation' ? { ...getBed, ...(result as object) } : operationWith(place, result, '/beds')
  const contract = place === 'contract' ? (result as Record<string, unknown>) : { getBed: operation }
  expect(() => generateFrom(contract)).toThrow(message)
})
