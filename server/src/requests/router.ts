/** The operations: what a request meets on the way to one, how it is called, and what its result says to the client. */
import { hash } from 'node:crypto'
import { type Contract, contract, type ErrorName, type OperationMetadata } from '@plant-store/contract'
import type { AppRoute, ClientInferResponseBody, ServerInferRequest } from '@ts-rest/core'
import { type AppRouteImplementation, createExpressEndpoints } from '@ts-rest/express'
import type { Express, Request } from 'express'
import { createAuthentication, type FindToken } from '../accounts/authentication.ts'
import type { RequestsInFlight } from '../connections/places.ts'
import type { Settings } from '../settings.ts'
import { readBody } from './body.ts'
import { HttpError, overloaded, rejectInvalid } from './errors.ts'
import { byPath } from './head.ts'
import { createRateLimit } from './rate-limit.ts'

/** Every operation of the contract, by name. One that the contract has and this lacks does not compile. */
export type Handlers = {
  readonly [TName in keyof Contract]: Handler<Input<Contract[TName]>, Body<Contract[TName]>>
}

/**
 * Responds to a valid request of an account.
 *
 * @param known the versions of which the client has the body, which then need not be read. Most operations ignore it
 */
export type Handler<TInput, TBody> = (
  input: TInput,
  account: string,
  known: readonly string[],
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
  /** Where the page ends; undefined: the body is no page. */
  readonly page?: Page | undefined
  /**
   * Names the body among all that the same request may ever have: its version, or a hash. Undefined: it has no name. It is
   * used only if the contract declares the 304.
   */
  readonly version?: string | undefined
}

/** Where a page ends. */
export interface Page {
  /** The cursor of its end, where the next page begins: now, or once there is one. */
  readonly endCursor: string
  /** Whether there is one now. */
  readonly hasNextPage: boolean
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

/** The handler of any operation. */
type AnyHandler = Handler<object, unknown>
/** What ts-rest calls. */
type Router = { [TName in keyof Contract]: AppRouteImplementation<Contract[TName]> }
/** A request as ts-rest hands it over. */
interface CheckedRequest {
  readonly params: object
  readonly query: object
  readonly body?: object
  readonly req: Request
}

/** What the operations work with. */
export interface Dependencies {
  /** What each operation of the contract does. */
  handlers: Handlers
  /** Looks up a token that is not cached. */
  findToken: FindToken
  requestsInFlight: RequestsInFlight
}

/** Adds the routes of all operations to an app, with what a request meets on the way to its operation. */
export function addOperations(
  app: Express,
  { handlers, findToken, requestsInFlight }: Dependencies,
  { publicUrl, rateLimit }: Pick<Settings, 'publicUrl' | 'rateLimit'>,
): void {
  const authenticate = createAuthentication(findToken)
  const countRequest = rateLimit && createRateLimit(rateLimit)
  const inOrder = Object.entries(contract).toSorted(([, one], [, other]) => byPath(one, other))
  createExpressEndpoints(Object.fromEntries(inOrder) as typeof contract, createRouter(handlers, publicUrl), app, {
    logInitialization: false,
    globalMiddleware: [
      async (request, response, next) => {
        const identity = await authenticate(request)
        request.context.identity = identity
        if (!requestsInFlight.countForAccount(request.context.inFlight, identity.account)) throw overloaded()
        countRequest?.(identity.tokenId, response)
        await readBody(request, response)
        next()
      },
    ],
    requestValidationErrorHandler: rejectInvalid,
  })
}

/**
 * Creates the router of all operations.
 *
 * @param publicUrl the URL of the service as clients know it; undefined: links are relative
 */
export function createRouter(handlers: Handlers, publicUrl?: string): Router {
  const endpoints = Object.entries<AppRoute>(contract).map(([name, route]) => {
    const handler = handlers[name as keyof Handlers] as AnyHandler
    return [name, implement(route, requireNamedErrors(name, route, handler), publicUrl)]
  })
  return Object.fromEntries(endpoints) as Router
}

/** Makes an error that the operation does not name a fault of the server, so that every test notices it. */
function requireNamedErrors(name: string, route: AppRoute, handler: AnyHandler): AnyHandler {
  const { errors = [] } = route.metadata as OperationMetadata
  const names = [...COMMON_ERRORS, ...errors]
  return (...request) =>
    handler(...request).catch((error) => {
      if (!(error instanceof HttpError) || names.includes(error.errorName)) throw error
      throw new Error(`Add ${error.errorName} to the metadata.errors of ${name}`, { cause: error })
    })
}

/**
 * Creates what ts-rest calls for an operation: with the fields of path, query and body as one input, and the tags that the
 * client has. Its result becomes the response, with its `Link` and `ETag`, or a 304 where the client has its body.
 */
function implement(route: AppRoute, handler: AnyHandler, publicUrl: string | undefined) {
  const status = Object.keys(route.responses)
    .map(Number)
    .find((each) => each < 300)
  // Without a schema, a query has any field.
  const hasQuery = typeof route.query === 'object'
  const hasTag = 304 in route.responses
  return async ({ params, query, body, req }: CheckedRequest) => {
    const input = { ...params, ...(hasQuery && query), ...body }
    const condition = hasTag ? req.headers['if-none-match'] : undefined
    const known = condition === undefined ? [] : readTags(condition)
    const { page, version, ...result } = await handler(input, req.context.identity.account, known)
    const links =
      page && writeLinks(publicUrl === undefined ? '' : publicUrl + req.path, req.query, Object.keys(query), page)
    if (links !== undefined) req.context.link = links
    // The links of a page are a part of what it says.
    const tag = version !== undefined && links !== undefined ? hash('sha256', version + links, 'base64url') : version
    if (hasTag && tag !== undefined) req.context.etag = `"${tag}"`
    const isKnown = (tag !== undefined && known.includes(tag)) || condition?.trim() === '*'
    return isKnown ? { status: 304, body: undefined } : { status, body: result.body }
  }
}

/** Returns the tags of an `If-None-Match`, without their quotes, also of weak ones (RFC 9110 section 13.1.2). */
function readTags(condition: string): string[] {
  return Array.from(condition.matchAll(/"([^"]*)"/g), ([, tag = '']) => tag)
}

/**
 * Returns the `Link` header of a page (RFC 8288): `next` leads to the next one, if there is one, and `end` to what follows
 * this one, now or later. Both have every parameter of the page as it arrived, so that a filter is not lost.
 *
 * @param target the URL without a query; empty: relative to the requested URL (RFC 8288 section 3.1)
 * @param names of the parameters that the operation has; others are left out
 */
export function writeLinks(target: string, query: Request['query'], names: readonly string[], page: Page): string {
  const values: Request['query'] = { ...query, cursor: page.endCursor }
  const sent = [...new Set([...names, 'cursor'])].filter((name) => values[name] !== undefined)
  const pairs = sent.map((name): [string, string] => [name, String(values[name])])
  const link = `<${target}?${new URLSearchParams(pairs)}>`
  return [...(page.hasNextPage ? ['next'] : []), 'end'].map((relation) => `${link}; rel="${relation}"`).join(', ')
}
