import { type Contract, contract, type ErrorName, type OperationMetadata } from '@plant-store/contract'
import type { AppRoute, ClientInferResponseBody, ServerInferRequest } from '@ts-rest/core'
import type { AppRouteImplementation } from '@ts-rest/express'
import type { Request, Response } from 'express'
import { HttpError } from './errors.ts'

/** Every operation of the contract, by name. One that the contract has and this lacks does not compile. */
export type Handlers = {
  readonly [TName in keyof Contract]: Handler<Input<Contract[TName]>, Body<Contract[TName]>>
}

/** Whether a client has the body of a version. */
export type IsKnown = (version: string) => boolean

/**
 * Responds to a valid request of an account.
 *
 * @param isKnown whether the client has the body of a version, which then need not be read; undefined: it has none
 */
export type Handler<TInput, TBody> = (
  input: TInput,
  account: string,
  isKnown?: IsKnown,
) => Promise<OperationResult<TBody>>

/** How an operation responds, unless it throws an `HttpError` that its `metadata.errors` names. */
export interface OperationResult<TBody> {
  /** The body of the success response; undefined: it has none. */
  readonly body: TBody
  /**
   * The fields of the input that the operation has not used: none. `({ limit, ...unused }) => ({ body, unused })` does
   * not compile until it takes each field out, so that none that is added to the contract is forgotten.
   */
  readonly unused: Readonly<Record<string, never>>
  /** The cursor of the next page; undefined: there is none. */
  readonly nextCursor?: string | undefined
  /** Names the body among all that the same request may have had; undefined: it has no version. */
  readonly version?: string | undefined
}

/** What an operation takes: the fields of path, query and body, as the contract decodes them. */
type Input<TRoute extends AppRoute> = Fields<TRoute, 'params'> & Fields<TRoute, 'query'> & Fields<TRoute, 'body'>
type Fields<TRoute extends AppRoute, TPart extends string> =
  ServerInferRequest<TRoute> extends Record<TPart, infer Part extends object> ? Part : object
/** The body of a success as clients read it: an int64 is a bigint, so that no number that was rounded is sent. */
export type Body<TRoute extends AppRoute> = ClientInferResponseBody<TRoute, Extract<keyof TRoute['responses'], Success>>
type Success = 200 | 201 | 202 | 204

/** Errors that no operation names: of its query and body, and of the state of the server. */
const COMMON_ERRORS: readonly ErrorName[] = ['invalidQuery', 'invalidBody', 'unavailable']

/** The parameters of a query as the contract decodes them, of which one that may be repeated is a list. */
type Query = Readonly<Record<string, number | string | boolean | readonly string[] | undefined>>
/** What ts-rest calls. */
type Router = { [TName in keyof Contract]: AppRouteImplementation<Contract[TName]> }
/** A request as ts-rest hands it over. */
interface CheckedRequest {
  readonly params: object
  readonly query: Query
  readonly body?: object
  readonly req: Request
  readonly res: Response
}

/**
 * Creates the router of all operations.
 *
 * @param publicUrl the URL of the service as clients know it; undefined: links are relative
 */
export function createRouter(handlers: Handlers, publicUrl?: string): Router {
  const endpoints = Object.entries<AppRoute>(contract).map(([name, route]) => {
    const handler = handlers[name as keyof Handlers] as Handler<object, unknown>
    return [name, implement(route, requireNamedErrors(name, route, handler), publicUrl)]
  })
  return Object.fromEntries(endpoints) as Router
}

/** Makes an error that the operation does not name a fault of the server, so that every test notices it. */
function requireNamedErrors(
  name: string,
  route: AppRoute,
  handler: Handler<object, unknown>,
): Handler<object, unknown> {
  const { errors = [] } = route.metadata as OperationMetadata
  const names = [...COMMON_ERRORS, ...errors]
  return (...request) =>
    handler(...request).catch((error) => {
      if (!(error instanceof HttpError) || names.includes(error.errorName)) throw error
      throw new Error(`Add ${error.errorName} to the metadata.errors of ${name}`, { cause: error })
    })
}

function implement(route: AppRoute, handler: Handler<object, unknown>, publicUrl: string | undefined) {
  const status = Object.keys(route.responses)
    .map(Number)
    .find((each) => each < 300)
  // A part without a schema is not checked.
  const { pathParams, query: parameters, body: content } = { body: undefined, ...route }
  const [hasPath, hasQuery, hasBody] = [pathParams, parameters, content].map((schema) => typeof schema === 'object')
  return async ({ params, query, body, req, res }: CheckedRequest) => {
    const input = { ...(hasPath && params), ...(hasQuery && query), ...(hasBody && body) }
    const condition = req.headers['if-none-match']
    const selection = hasQuery ? writeQuery(query) : ''
    const isKnown = (version: string) => matches(condition, tagOf(version, selection))
    const result = await handler(input, req.identity.account, condition === undefined ? undefined : isKnown)
    if (result.version !== undefined) {
      res.etag = tagOf(result.version, selection)
      if (isKnown(result.version)) return { status: 304, body: undefined }
    }
    if (result.nextCursor !== undefined) {
      const target = publicUrl === undefined ? '' : publicUrl + req.path
      res.setHeader('Link', nextPage(target, { ...query, cursor: result.nextCursor }))
    }
    return { status, body: result.body }
  }
}

/** Returns the `ETag` of a body: its version, and what the query of the request has selected of it. */
function tagOf(version: string, selection: string): string {
  return selection === '' ? `"${version}"` : `"${version}?${selection}"`
}

/** Whether an `If-None-Match` names a tag: `*`, or one of a list, also as a weak one (RFC 9110 section 13.1.2). */
function matches(condition: string | undefined, tag: string): boolean {
  const tags: readonly string[] = condition?.match(/"[^"]*"/g) ?? []
  return tags.includes(tag) || condition?.trim() === '*'
}

/**
 * Returns the `Link` header to the next page, which has every parameter of this one, so that a filter is not lost.
 *
 * @param target the URL without a query; empty: relative to the requested URL (RFC 8288 section 3.1)
 */
export function nextPage(target: string, query: Query): string {
  return `<${target}?${writeQuery(query)}>; rel="next"`
}

function writeQuery(query: Query): string {
  const pairs = Object.entries(query).flatMap(([name, values]) =>
    [values ?? []].flat().map((value): [string, string] => [name, String(value)]),
  )
  return new URLSearchParams(pairs).toString()
}
