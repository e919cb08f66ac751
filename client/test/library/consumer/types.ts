/** The operations of the library with their types, asserted both ways. It is compiled, never run. */
import {
  type Book,
  createPlantStoreClient,
  type DeleteBookError,
  type Loan,
  type NewBook,
  type PlaceInput,
  type PutBookPath,
  type SearchBooksQuery,
} from '@plant-store/client'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false

/** Compiles only if both types are the same. */
function same<A, B>(_equal: Equal<A, B>): void {}

const client = createPlantStoreClient({ baseUrl: 'http://127.0.0.1', token: 'pst_test' })
const lent: PlaceInput = { kind: 'lent', to: 5 }
const kindred: NewBook = { title: 'Kindred', genre: 'novel', authors: [], price: 9.5, place: lent }

export async function calls(): Promise<void> {
  const put = await client.putBook({ id: 1 }, kindred, { 'x-currency': 'eur' }, { retries: 0 })
  if ('created' in put) same<string, typeof put.location>(true)
  else same<Book, typeof put>(true)
  await client.searchBooks({ words: 'a', ids: [1, 2n], order: 'title' }, { timeout: 5 })

  const nothing = await client.deleteBook({ id: 1n }, { 'if-match': '"1"' })
  same<undefined, typeof nothing>(true)
  const deleted = await client.safe.deleteBook({ id: 1 }, { 'if-match': '"1"' })
  if (deleted.ok) same<undefined, typeof deleted.data>(true)
  else if (deleted.error.kind === 'api') {
    same<400 | 401 | 404 | 412 | 429 | 503, typeof deleted.error.status>(true)
  }
  const raw = await client.raw.deleteBook({ id: 1 }, { 'if-match': '"1"' })
  same<undefined, typeof raw.data>(true)

  same<Loan, Awaited<ReturnType<typeof client.borrowBook>>>(true)
  await client.borrowBook({ book: 1n, member: 'Ada' })
  for await (const loan of client.iterate.listLoans({ member: 'Ada' })) same<Loan, typeof loan>(true)
  const page = await client.raw.listLoans()
  same<string | undefined, typeof page.nextCursor>(true)
}

export const advice = (error: DeleteBookError): string => error.kind
export const path: PutBookPath = { id: 1 }
export const query: SearchBooksQuery = { words: '', order: 'price' }

export function mistakes(): void {
  // @ts-expect-error: the query is required
  void client.searchBooks()
  // @ts-expect-error: the order is required
  void client.searchBooks({ words: 'a' })
  // @ts-expect-error: no such parameter
  void client.searchBooks({ words: 'a', order: 'title', colour: 'green' })
  // @ts-expect-error: no such kind of place
  void client.putBook({ id: 1 }, { ...kindred, place: { kind: 'cellar', board: 1 } })
  // @ts-expect-error: the header is required
  void client.deleteBook({ id: 1 })
  // @ts-expect-error: the operation is not paged
  void client.iterate.searchBooks
}
