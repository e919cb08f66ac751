import { type CallResponse, prepareCall, sendCall } from './call.ts'
import { MalformedResponseError } from './errors.ts'
import type { OperationName } from './generated/routes.ts'
import type { Settings } from './options.ts'
import { nextLink, parseUrl } from './wire/request.ts'

/** Iterates over the items of a paged operation. It fetches a page when the previous one has been consumed. */
export async function* iteratePages(
  operation: OperationName,
  parameters: readonly unknown[],
  settings: Settings,
): AsyncGenerator<unknown, void, undefined> {
  const call = prepareCall(operation, parameters, settings)
  const first = new URL(call.url)
  if (!first.searchParams.has('limit')) first.searchParams.set('limit', '100')
  for (let page = await sendCall({ ...call, url: first.href }); ; ) {
    yield* page.data as unknown[]
    const next = nextPage(page)
    if (!next) return
    page = await sendCall({ ...call, url: next.href })
  }
}

/**
 * Returns the URL of the next page; undefined if this is the last page.
 *
 * @throws MalformedResponseError if the link leads to another origin, which must not get the token, or to the same page
 */
export function nextPage({ head, call, redact }: CallResponse): URL | undefined {
  const target = nextLink(head.headers.get('link'))
  if (target === undefined) return undefined
  const current = new URL(call.url)
  const next = parseUrl(target, call.url)
  if (next?.origin === current.origin && next.href !== current.href) return next
  throw new MalformedResponseError(redact(`with an invalid link to the next page: ${target}`), head, call)
}
