import { type Question, type Sent, send } from './call/call.ts'
import { MalformedResponseError } from './errors.ts'
import type { Settings } from './options.ts'
import { nextLink } from './wire/link.ts'

const DEFAULT_PAGE_SIZE = 100

/** All that a paged operation lists. A page is fetched when the one before has been consumed. */
export async function* iteratePages(question: Question, settings: Settings): AsyncGenerator<unknown, void, undefined> {
  const query = { limit: DEFAULT_PAGE_SIZE, ...definedFields(question.input.query) }
  let page: Sent = await send({ ...question, input: { ...question.input, query } }, settings)
  for (;;) {
    yield* page.data as unknown[]
    const next = nextPage(page)
    if (!next) return
    page = await send({ ...question, url: next.url }, settings)
  }
}

/** Where the next page is. */
interface NextPage {
  readonly url: string
  /** By which a caller can ask for the page itself. */
  readonly cursor: string | undefined
}

/**
 * The page after this one; undefined where it is the last.
 *
 * @throws MalformedResponseError where it is at another origin, which must not see the token, or this very page
 */
export function nextPage({ headers, url, method, attempts, ...answer }: Sent): NextPage | undefined {
  const target = nextLink(headers.get('link'))
  if (target === undefined) return undefined
  const here = new URL(url)
  const next = URL.canParse(target, url) ? new URL(target, url) : undefined
  if (next?.origin === here.origin && next.href !== here.href) {
    return { url: next.href, cursor: next.searchParams.get('cursor') ?? undefined }
  }
  const reason = `with a link to a next page that is none of this service: ${target}`
  throw new MalformedResponseError(reason, { ...answer, headers }, { method, url, attempts })
}

function definedFields(query: unknown): object {
  return Object.fromEntries(Object.entries(query ?? {}).filter(([, value]) => value !== undefined))
}
