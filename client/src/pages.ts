import { type Call, type CallResponse, sendCall } from './call.ts'
import { MalformedResponseError } from './errors.ts'
import { orUndefined } from './wire/values.ts'

/**
 * Iterates over the items of a paged operation. It fetches a page when the previous one has been consumed.
 *
 * @param prepare prepares the call of a page
 */
export async function* iteratePages(
  prepare: (input: unknown) => Call,
  input: unknown,
): AsyncGenerator<unknown, void, undefined> {
  prepare(input)
  let { limit = 100, cursor } = Object(input)
  do {
    // With the other fields of the input, which may be getters.
    const page = await sendCall(prepare(Object.assign(Object.create(Object(input)), { limit, cursor })))
    yield* page.data as unknown[]
    cursor = nextCursor(page, cursor)
  } while (cursor !== undefined)
}

/**
 * Returns the cursor of the next page; undefined if this is the last page.
 *
 * @param own the cursor of this page
 * @throws MalformedResponseError if the link has no cursor, or that of this page
 */
export function nextCursor({ head, call }: CallResponse, own: unknown): string | undefined {
  const link = head.headers.get('link') ?? ''
  const target = nextTarget(link)
  if (target === undefined) return undefined
  const cursor = orUndefined(() => new URL(target, call.url).searchParams.get('cursor'))
  if (cursor && cursor !== own) return cursor
  throw new MalformedResponseError(`with an invalid link: ${link}`, head, call)
}

/** Returns the target of `rel="next"` in a `Link` header (RFC 8288); undefined if there is none. */
export function nextTarget(link: string): string | undefined {
  // No two parts match the same characters, which would take quadratic time.
  return /<([^<>]*)>[^<]*;\s*rel\s*=([^,;]*[\s"])?next(?![^\s",;])/i.exec(link)?.[1]
}
