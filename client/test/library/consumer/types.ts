/** Every operation of the library, with its types asserted both ways. It is compiled, never run. */
import {
  type Book,
  type BookChanges,
  type BorrowBookHeaders,
  createPlantStoreClient,
  type DeleteBookError,
  type FoundBooks,
  type GetBookPath,
  type Loan,
  type NewBook,
  type SearchBooksQuery,
  type Statistics,
} from '@plant-store/client'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false

/** Compiles only if both types are the same. */
function same<A, B>(_equal: Equal<A, B>): void {}

const client = createPlantStoreClient({ baseUrl: 'http://127.0.0.1', token: 'pst_test' })
const author = { name: 'Octavia E. Butler', born: '1947-06-22' }
const kindred: NewBook = { title: 'Kindred', genre: 'novel', authors: [author], price: 9.5, available: true }

export async function calls(): Promise<void> {
  same<Book, Awaited<ReturnType<typeof client.getBook>>>(true)
  await client.getBook({ id: 1n }, { 'accept-language': 'de', 'x-currency': 'eur' }, { retries: 0 })
  await client.getBook({ id: 1 })

  const found = await client.searchBooks(
    { words: 'a', genres: ['novel'], authors: ['b'], ids: [1, 2n], available: true, minPages: 1, order: 'title' },
    { timeout: 5 },
  )
  same<FoundBooks, typeof found>(true)
  same<bigint, FoundBooks['total']>(true)
  same<bigint[] | undefined, FoundBooks['filters']['ids']>(true)

  const put = await client.putBook({ id: 1 }, kindred)
  if ('created' in put) same<string, typeof put.location>(true)
  else same<Book, typeof put>(true)

  const changes: BookChanges = {
    subtitle: null,
    successor: 1,
    place: { kind: 'shelf', room: 'A', board: null },
    copies: { north: 1n, south: null },
  }
  same<Book, Awaited<ReturnType<typeof client.updateBook>>>(true)
  await client.updateBook({ id: 1n }, changes, { 'if-match': '"1"' })
  await client.updateBook({ id: 1n }, { place: { kind: 'lent', to: 5n } })
  await client.updateBook({ id: 1n }, { keepHistory: undefined })

  const nothing = await client.deleteBook({ id: 1n }, { 'if-match': '"1"' })
  same<undefined, typeof nothing>(true)

  same<Loan, Awaited<ReturnType<typeof client.borrowBook>>>(true)
  await client.borrowBook({ book: 1, member: 'Ada', days: 3 }, { 'x-desk': 4 })
  await client.borrowBook({ book: 1n, member: 'Ada' })

  for await (const loan of client.iterate.listLoans({ member: 'Ada' })) same<Loan, typeof loan>(true)
  const page = await client.raw.listLoans({ limit: 2 })
  same<string | undefined, typeof page.nextCursor>(true)

  const statistics = await client.getStatistics()
  same<Statistics, typeof statistics>(true)
  same<bigint | null, Statistics['newest']>(true)
  same<bigint | string, Statistics['largestLoan']>(true)
  same<bigint[], Statistics['recent']>(true)
  same<(bigint | null)[][], Statistics['grid']>(true)
  same<{ loan: bigint } | null | undefined, Statistics['last']>(true)
  same<'book', Statistics['unit']>(true)
  same<2, Statistics['version']>(true)

  const deleted = await client.safe.deleteBook({ id: 1 }, { 'if-match': '"1"' })
  if (deleted.ok) same<undefined, typeof deleted.data>(true)
  else if (deleted.error.kind === 'api') {
    same<400 | 401 | 403 | 404 | 408 | 412 | 429 | 500 | 503, typeof deleted.error.status>(true)
  }
  const raw = await client.raw.deleteBook({ id: 1 }, { 'if-match': '"1"' })
  same<undefined, typeof raw.data>(true)
}

export const advice = (error: DeleteBookError): string => error.kind
export const path: GetBookPath = { id: 1 }
export const headers: BorrowBookHeaders = {}
export const query: SearchBooksQuery = { words: '', order: 'price' }

export function mistakes(): void {
  // @ts-expect-error: an id is not text
  void client.getBook({ id: '1' })
  // @ts-expect-error: a currency is one of a list
  void client.getBook({ id: 1 }, { 'x-currency': 'chf' })
  // @ts-expect-error: the query is required
  void client.searchBooks()
  // @ts-expect-error: the order is required
  void client.searchBooks({ words: 'a' })
  // @ts-expect-error: a genre is one of a list
  void client.searchBooks({ words: 'a', order: 'title', genres: ['drama'] })
  // @ts-expect-error: a list is an array
  void client.searchBooks({ words: 'a', order: 'title', genres: 'novel' })
  // @ts-expect-error: no such parameter
  void client.searchBooks({ words: 'a', order: 'title', colour: 'green' })
  // @ts-expect-error: the genre is required
  void client.putBook({ id: 1 }, { title: 'Kindred', authors: [], price: 1, available: true })
  // @ts-expect-error: a title is never null
  void client.updateBook({ id: 1 }, { title: null })
  // @ts-expect-error: a place on a shelf has a room
  void client.updateBook({ id: 1 }, { place: { kind: 'shelf', board: 1 } })
  // @ts-expect-error: no such kind of place
  void client.updateBook({ id: 1 }, { place: { kind: 'cellar', room: 'A', board: 1 } })
  // @ts-expect-error: the header is required
  void client.deleteBook({ id: 1 })
  // @ts-expect-error: the header has a name
  void client.deleteBook({ id: 1 }, { 'if-none-match': '"1"' })
  // @ts-expect-error: the operation is not paged
  void client.iterate.getBook
  // @ts-expect-error: a date is text
  void client.putBook({ id: 1 }, { ...kindred, authors: [{ name: 'a', born: new Date() }] })
}
