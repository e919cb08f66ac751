import { Int64Schema } from '@plant-store/contract'
import * as z from 'zod'

/** An int64 in a request body. */
const IdSchema = Int64Schema.meta({ description: 'Identification number.' })

/** A small positive integer in a query or a header, which are text. */
export const CountSchema = z
  .codec(z.string().regex(/^\d{1,9}$/), z.int().min(1).max(100_000), { decode: Number, encode: String })
  .meta({ override: { type: 'integer', format: 'int32' } })

/** A number in a query. */
export const PriceTextSchema = z
  .codec(z.string().regex(/^\d+(\.\d+)?(e\+\d+)?$/), z.number(), { decode: Number, encode: String })
  .meta({ override: { type: 'number' } })

/** A boolean in a query. */
export const FlagSchema = z
  .stringbool({ truthy: ['true'], falsy: ['false'], case: 'sensitive' })
  .meta({ override: { type: 'boolean' } })

/** A list in a query: Express passes a single item as text. */
export function listOf<TItem extends z.ZodType>(item: TItem) {
  return z.preprocess((value) => [value].flat(), z.array(item))
}

export const GenreSchema = z
  .enum(['novel', 'poetry', 'science', "children's"])
  .meta({ id: 'Genre', description: 'The genre of a book.' })

const AuthorSchema = z
  .object({
    name: z.string().meta({ description: 'The full name.', examples: ['Octavia E. Butler'] }),
    born: z.iso.date().nullable().meta({ description: 'The date of birth; `null` if it is unknown.' }),
  })
  .meta({ id: 'Author', description: 'Who wrote a book.' })

const bookFields = {
  title: z.string().meta({ description: 'The title.', examples: ['Kindred'] }),
  subtitle: z.string().nullable().optional().meta({ description: 'The subtitle; `null` removes it.' }),
  genre: GenreSchema,
  authors: z.array(AuthorSchema).meta({ description: 'Who wrote the book, in the order of the cover.' }),
  pages: z.int32().min(1).optional(),
  price: z.number().meta({ description: 'The price in euros.' }),
  available: z.boolean(),
  binding: z.literal(['hardcover', 'paperback']).optional(),
  isbn: z.string().optional().meta({ description: 'The number of the edition. Use `editions`.', deprecated: true }),
}

/** A book to create or replace. */
export const NewBookSchema = z.object(bookFields).meta({ id: 'NewBook', description: 'A book to create or replace.' })

/** Where a book is, as a request says it. */
const NewPlaceSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('shelf'), room: z.string(), board: IdSchema.nullable() }),
  z.object({ kind: z.literal('lent'), to: z.union([IdSchema, z.string()]) }),
])

/** Where a book is, as a response says it. */
const PlaceSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('shelf'), room: z.string(), board: z.int64().nullable() }),
  z.object({ kind: z.literal('lent'), to: z.union([z.int64(), z.string()]) }),
])

/** What to change of a book. */
export const BookChangesSchema = z
  .object({
    title: z.string().optional(),
    subtitle: z.string().nullable().optional().meta({ description: '`null` removes the subtitle.' }),
    price: z.number().optional(),
    available: z.boolean().optional(),
    successor: IdSchema.nullable()
      .optional()
      .meta({ description: 'The book that replaces this one; `null` if there is none.' }),
    place: NewPlaceSchema.optional(),
    copies: z.record(z.string(), IdSchema.nullable()).optional().meta({ description: 'A copy per branch.' }),
    keepHistory: z.boolean().default(true),
  })
  .meta({ id: 'BookChanges', description: 'What to change of a book. What is absent stays.' })

/** A book as the library returns it. */
export const BookSchema = z
  .object({
    id: z.int64().meta({ description: 'Identification number.' }),
    ...bookFields,
    successor: z.int64().nullable().meta({ description: 'The book that replaces this one.' }),
    place: PlaceSchema.nullable(),
    copies: z.record(z.string(), z.int64().nullable()),
    history: z.int32().meta({ description: 'The number of changes.' }),
    changed: z.iso.datetime().meta({ description: 'When the book was last changed.' }),
    revision: z.string().meta({ description: 'Changes with the book: send it as `if-match`.' }),
  })
  .meta({ id: 'Book', description: 'A book of the library.' })

/** A page of found books. */
export const FoundBooksSchema = z
  .object({
    books: z.array(BookSchema),
    total: z.int64(),
    /** The filters as the server read them, so that a test sees what arrived. */
    filters: z.object({
      words: z.string(),
      genres: z.array(GenreSchema).optional(),
      authors: z.array(z.string()).optional(),
      ids: z.array(z.int64()).optional(),
      available: z.boolean().optional(),
      minPages: z.int32().optional(),
      maxPrice: z.number().optional(),
      order: z.enum(['title', 'price']),
    }),
  })
  .meta({ id: 'FoundBooks', description: 'The books that match, and how many there are.' })

export const LoanSchema = z
  .object({
    id: z.int64(),
    book: z.int64(),
    member: z.string(),
    due: z.iso.date(),
    returned: z.iso.datetime().nullable(),
  })
  .meta({ id: 'Loan', description: 'A book that a member has borrowed.' })

export const NewLoanSchema = z
  .object({ book: IdSchema, member: z.string(), days: z.int32().min(1).max(90).optional() })
  .meta({ id: 'NewLoan', description: 'A book to borrow.' })

/** Every place where an int64 can be in a response. */
export const StatisticsSchema = z
  .object({
    books: z.int64(),
    byGenre: z.record(z.string(), z.int64()),
    byYear: z.record(z.string(), z.object({ bought: z.int64(), lost: z.int64().nullable() })),
    newest: z.int64().nullable(),
    largestLoan: z.union([z.int64(), z.string()]),
    recent: z.array(z.int64()),
    grid: z.array(z.array(z.int64().nullable())),
    last: z.union([z.object({ loan: z.int64() }), z.null()]).optional(),
    mean: z.number(),
    unit: z.literal('book'),
    version: z.literal(2),
  })
  .meta({ id: 'Statistics', description: 'How many books there are.' })
