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
  // An earlier cursor, a later one each time the number of pages has doubled: so a cycle of any length comes back to it.
  let earlier = cursor
  let pages = 0
  do {
    // With the other fields of the input, which may be getters.
    const page = await sendCall(prepare(Object.assign(Object.create(Object(input)), { limit, cursor })))
    yield* page.data as unknown[]
    // At each power of two.
    if (!(pages & ++pages)) earlier = cursor
    cursor = nextCursor(page, [cursor, earlier])
  } while (cursor !== undefined)
}

/**
 * Returns the cursor of the next page; undefined if this is the last page.
 *
 * The cursor is read as text, since React Native's `URL` does not parse a query.
 *
 * @param earlier the cursors of this page, and of others before it
 * @throws MalformedResponseError if the link has no cursor, or one of these
 */
export function nextCursor({ head, call }: CallResponse, earlier: readonly unknown[]): string | undefined {
  const link = head.headers.get('link') ?? ''
  const target = nextTarget(link)
  if (target === undefined) return undefined
  const [, text = ''] = /^[^#]*?[?&]cursor=([^&#]*)/.exec(target) ?? []
  const cursor = orUndefined(() => decodeURIComponent(text.replaceAll('+', ' ')))
  if (cursor && !earlier.includes(cursor)) return cursor
  throw new MalformedResponseError(`an invalid link: ${link}`, head, call)
}

/** Returns the target of `rel="next"` in a `Link` header (RFC 8288); undefined if there is none. */
export function nextTarget(link: string): string | undefined {
  // No two parts match the same characters, which would take quadratic time.
  return /<([^<>]*)>[^<]*;\s*rel\s*=([^,;]*[\s"])?next(?![^\s",;])/i.exec(link)?.[1]
}
