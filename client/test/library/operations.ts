import { type ErrorName, errorCatalogue } from '@plant-store/contract'
import type * as z from 'zod'
import type { library } from './contract.ts'
import type { BookChangesSchema, BookSchema, LoanSchema, NewBookSchema, NewLoanSchema } from './schemas.ts'

type Book = z.output<typeof BookSchema>
type Loan = z.output<typeof LoanSchema>
type SearchQuery = z.output<typeof library.searchBooks.query>
type LoansQuery = z.output<typeof library.listLoans.query>

const FIRST_LOAN = 2n ** 63n - 1_000_000n
const DAY = 86_400_000

/** The operations of a library. */
export type LibraryOperations = ReturnType<typeof createLibraryOperations>

/** Creates a library in memory. Ids of loans are near the end of int64, where a `number` would be rounded. */
export function createLibraryOperations() {
  const books = new Map<bigint, Book>()
  const loans: Loan[] = []
  let revisions = 0

  function store(book: Omit<Book, 'revision' | 'changed'>): Book {
    const stored = { ...book, changed: new Date().toISOString(), revision: `"${++revisions}"` }
    books.set(stored.id, stored)
    return stored
  }

  function create(id: bigint, book: z.output<typeof NewBookSchema>): Book {
    return store({ successor: null, place: null, copies: {}, history: 0, ...book, id })
  }

  return {
    getBook(id: bigint) {
      const book = books.get(id)
      return book ? ok(book) : notFound()
    },

    searchBooks(query: SearchQuery) {
      const found = [...books.values()].filter((book) => matches(book, query)).sort(by(query.order))
      return ok({ books: found, total: BigInt(found.length), filters: query })
    },

    putBook(id: bigint, book: z.output<typeof NewBookSchema>) {
      const replaces = books.has(id)
      const created = create(id, book)
      return replaces ? ok(created) : { status: 201 as const, body: { created, location: `/library/books/${id}` } }
    },

    updateBook(id: bigint, changes: z.output<typeof BookChangesSchema>, revision: string | undefined) {
      const { keepHistory = true, ...fields } = changes
      const book = books.get(id)
      if (!book) return notFound()
      if (revision !== undefined && revision !== book.revision) return changedSince()
      // JSON has no `undefined`, so a field is absent or has a value.
      return ok(store({ ...book, ...(fields as Partial<Book>), history: keepHistory ? book.history + 1 : 0 }))
    },

    deleteBook(id: bigint, revision: string) {
      const book = books.get(id)
      if (!book) return notFound()
      if (revision !== book.revision) return changedSince()
      books.delete(id)
      return noContent()
    },

    borrowBook({ book, member, days = 14 }: z.output<typeof NewLoanSchema>) {
      if (!books.has(book)) return notFound()
      const due = new Date(Date.now() + days * DAY).toISOString().slice(0, 10)
      const loan = { id: FIRST_LOAN + BigInt(loans.length), book, member, due, returned: null }
      loans.push(loan)
      return { status: 201 as const, body: loan }
    },

    /** Returns a page, and the query of the next one. */
    listLoans({ limit = loans.length, cursor = '0', member }: LoansQuery) {
      const end = Number(cursor) + limit
      const listed = loans.filter((loan) => member === undefined || loan.member === member)
      const next = new URLSearchParams({ limit: `${limit}`, cursor: `${end}`, ...(member && { member }) })
      return { ...ok(listed.slice(Number(cursor), end)), next: end < listed.length ? String(next) : undefined }
    },

    /** Counts the books; ids stand for the other counters, so that these are large. */
    getStatistics() {
      const ids = [...books.keys()]
      const newest = ids.at(-1) ?? null
      const loan = loans.at(-1)
      return ok({
        books: BigInt(ids.length),
        byGenre: Object.fromEntries([...books.values()].map(({ genre, id }) => [genre, id])),
        byYear: { 2026: { bought: newest ?? 0n, lost: newest }, 2025: { bought: 0n, lost: null } },
        newest,
        largestLoan: loan?.id ?? 'no loans',
        recent: ids,
        grid: [ids, [null, newest]],
        last: loan ? { loan: loan.id } : null,
        mean: 0.5,
        unit: 'book' as const,
        version: 2 as const,
      })
    },
  }
}

/** Creates the body of an error. */
export function errorBody(name: ErrorName, message: string = errorCatalogue[name].reason) {
  return { error: errorCatalogue[name].code, message }
}

function ok<TBody>(body: TBody) {
  return { status: 200 as const, body }
}

function noContent() {
  return { status: 204 as const, body: undefined }
}

function notFound() {
  return { status: 404 as const, body: errorBody('notFound', 'id: there is no such book') }
}

function changedSince() {
  const message = 'if-match: the book has changed since; read it again'
  return { status: 412 as const, body: { error: 41200, message } }
}

function matches({ title, genre, authors, id, available, pages = 0, price }: Book, query: SearchQuery): boolean {
  return (
    title.includes(query.words) &&
    (query.genres?.includes(genre) ?? true) &&
    (query.authors?.some((name) => authors.some((author) => author.name === name)) ?? true) &&
    (query.ids?.includes(id) ?? true) &&
    (query.available === undefined || query.available === available) &&
    pages >= (query.minPages ?? 0) &&
    price <= (query.maxPrice ?? Number.POSITIVE_INFINITY)
  )
}

function by(order: 'title' | 'price') {
  return (one: Book, other: Book): number => (one[order] < other[order] ? -1 : 1)
}
