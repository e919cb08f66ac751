import type * as z from 'zod'
import type { BookChangesSchema, BookSchema, LoanSchema, NewBookSchema, NewLoanSchema } from './schemas.ts'

export type Book = z.output<typeof BookSchema>
export type Loan = z.output<typeof LoanSchema>
type NewBook = z.output<typeof NewBookSchema>
type BookChanges = z.output<typeof BookChangesSchema>
type NewLoan = z.output<typeof NewLoanSchema>

/** The books and loans of a library. */
export interface LibraryStore {
  readonly books: ReadonlyMap<bigint, Book>
  readonly loans: readonly Loan[]
  put(id: bigint, book: NewBook): Book
  change(book: Book, changes: BookChanges): Book
  remove(id: bigint): void
  borrow(loan: NewLoan): Loan
  /** Returns every copy of a book. */
  giveBack(book: bigint): void
}

const FIRST_LOAN = 2n ** 63n - 1_000_000n
const DAY = 86_400_000

/** Creates a library in memory. Ids of loans start near the end of int64, where a `number` would be rounded. */
export function createLibraryStore(): LibraryStore {
  const books = new Map<bigint, Book>()
  const loans: Loan[] = []
  let revisions = 0

  function store(book: Omit<Book, 'revision' | 'changed'>): Book {
    const stored = { ...book, changed: new Date().toISOString(), revision: `"${++revisions}"` }
    books.set(stored.id, stored)
    return stored
  }

  return {
    books,
    loans,
    put: (id, book) => store({ successor: null, place: null, copies: {}, history: 0, ...book, id }),
    // JSON has no `undefined`, so a field of the changes is absent or has a value.
    change: (book, { keepHistory, ...changes }) =>
      store({ ...book, ...(changes as Partial<Book>), history: keepHistory ? book.history + 1 : 0 }),
    remove: (id) => void books.delete(id),
    borrow({ book, member, days = 14 }) {
      const due = new Date(Date.now() + days * DAY).toISOString().slice(0, 10)
      const loan = { id: FIRST_LOAN + BigInt(loans.length), book, member, due, returned: null }
      loans.push(loan)
      return loan
    },
    giveBack(book) {
      for (const [index, loan] of loans.entries()) {
        if (loan.book === book) loans[index] = { ...loan, returned: new Date().toISOString() }
      }
    },
  }
}
