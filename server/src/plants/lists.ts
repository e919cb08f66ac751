import { type ListPiece, type ListRange, type ListState, oncePerTurn, type Plants } from '@plant-store/prisma'
import { LRUCache } from 'lru-cache'
import type { JsonPieces } from '../http/responses.ts'
import { createReadQueue } from './account-queue.ts'

const MEBIBYTE = 2 ** 20
/** The size of all cached pieces, each with {@link PIECE_BYTES}, and of those of one list, in bytes. */
const MAX_CACHE_BYTES = 16 * MEBIBYTE
const MAX_LIST_BYTES = MEBIBYTE
/** What a cached piece takes in memory besides its JSON: the name of the account, objects, and a place in a map. */
const PIECE_BYTES = 1_024
/** How many plants the first piece of a list may have, and any piece. */
const FIRST_PIECE_PLANTS = 512
const MAX_PIECE_PLANTS = 1_024

/** Which plants of an account to list. Default: all. */
type Range = Omit<ListRange, 'limit'> & { limit?: number | undefined }

/** Plants of an account as text. */
export interface PlantList {
  /** The text of a JSON array: whole, or in pieces, each of which is read once the one before is sent. */
  json: Buffer | JsonPieces
  /** The `seq` of the last plant where more follow; undefined: none do, or the list has no limit. */
  next: number | undefined
}

/** The lists of all accounts. */
export interface Lists {
  /** Reads the plants of an account in a range. Only the whole list is cached. */
  read(account: string, range?: Range): Promise<PlantList>
}

/** A piece of the text of a list: at most 64 kB, or one plant. */
interface Piece {
  readonly json: Buffer
  /** The `seq` of its last plant, after which the next piece begins. */
  readonly last: number
  /** Whether another piece follows. */
  readonly more: boolean
  /** How many plants to read next: twice as many as have just fitted. */
  readonly nextLimit: number
  /** The moment at which it began to be read: a count, see `lastMoment`. */
  readonly begin: number
  /** The version that the whole list had then; undefined: it is not known. */
  readonly version: string | undefined
}

/** The cached pieces of a list. */
interface CachedList {
  readonly version: string
  /** By the `seq` before each. */
  readonly pieces: Map<number, Piece>
  readonly bytes: number
}

/** What to read for a piece. */
interface PieceRange extends ListRange {
  readonly after: number
  /** Whether the text of the list begins with it. */
  readonly isFirst: boolean
}

/** Which cached pieces a request may use. */
interface ListRequest {
  /** The version of the list; undefined: it is not known. */
  readonly version: string | undefined
  /** The moment at which it arrived. */
  readonly since: number
  /** The `seq` of the last plant then: what is added later may be left out, so that a list ends. */
  readonly end: number
}

const EMPTY = Buffer.from('[]')
const CLOSING = Buffer.from(']')

/**
 * Creates the lists of all accounts, as JSON text.
 *
 * The version of every requested list is read after its request has arrived, once for all lists of a turn of the event loop. A
 * piece that was cached with the same version, or has been read since then, is sent as it is; any other is read, and cached with
 * the version that the database had at the same moment. Equal versions are equal lists, so a list is never older than its request,
 * on any number of servers and whoever else changes plants.
 */
export function createLists(plants: Plants): Lists {
  const waitForRead = createReadQueue()
  const cache = new LRUCache<string, CachedList>({ maxSize: MAX_CACHE_BYTES })
  const readState = oncePerTurn<ListState>(plants.states)
  /** Reads a page once for all requests of a turn that ask for the same; the key is its account and range, as JSON. */
  const readOnce = oncePerTurn<ListPiece>(async (keys) =>
    keys.map((key) => {
      const [account, range]: [string, ListRange] = JSON.parse(key)
      return plants.read(account, range)
    }),
  )

  /** The pieces that are being read. */
  const running = new Map<string, { begin: number; loading: Promise<Piece> }>()
  /** The moments of requests and reads are numbers: a later one has a larger number. */
  let lastMoment = 0

  function find(account: string, { version, since }: ListRequest, after: number): Piece | undefined {
    const list = cache.get(account)
    const piece = list?.pieces.get(after)
    return piece && (list?.version === version || piece.begin > since) ? piece : undefined
  }

  function store(account: string, after: number, piece: Piece): void {
    // Its own version: plants may have changed since that of the list was read.
    const { version } = piece
    if (version === undefined) return
    const known = cache.get(account)
    const { pieces, bytes } = known?.version === version ? known : { pieces: new Map<number, Piece>(), bytes: 0 }
    const size = bytes + PIECE_BYTES + piece.json.length
    if (pieces.has(after) || size > MAX_LIST_BYTES) return
    pieces.set(after, piece)
    // Another object, since only that makes the cache look at the size.
    cache.set(account, { version, pieces, bytes: size }, { size })
  }

  /** Reads a piece from the database. Where as many plants are too long for one, an eighth of them is tried. */
  async function load(account: string, { isFirst, ...range }: PieceRange, begin: number): Promise<Piece> {
    const { json, last, more, version } = await plants.read(account, range)
    if (json === undefined) {
      await waitForRead(account, true)
      return load(account, shrink({ ...range, isFirst }), begin)
    }
    const comma = json === '' ? '' : ','
    const text = `${isFirst ? '[' : comma}${json}${more ? '' : ']'}`
    const nextLimit = Math.min(2 * range.limit, MAX_PIECE_PLANTS)
    return { json: toBuffer(text), last, more, nextLimit, begin, version }
  }

  /** Reads a piece of a whole list, or takes it from another request that has read it, or begun to, since this one arrived. */
  async function readPiece(account: string, range: PieceRange, request?: ListRequest): Promise<Piece> {
    await waitForRead(account, !range.isFirst)
    const begin = ++lastMoment
    if (!request) return load(account, range, begin)
    const known = find(account, request, range.after)
    if (known) return known
    const key = JSON.stringify([account, range.after])
    const other = running.get(key)
    if (other && other.begin > request.since) return other.loading
    const loading = load(account, range, begin)
    running.set(key, { begin, loading })
    try {
      const piece = await loading
      store(account, range.after, piece)
      return piece
    } finally {
      if (running.get(key)?.loading === loading) running.delete(key)
    }
  }

  /** Reads a list in pieces. Not a generator, which would keep the last piece until the next one. */
  function readPieces(account: string, range: PieceRange, request?: ListRequest, first?: Piece): JsonPieces {
    let known = first
    let next: PieceRange | undefined = range
    let isClosed = false

    async function readNext(range: PieceRange): Promise<Buffer> {
      const found = known ?? (request && find(account, request, range.after))
      const { json, more, last, nextLimit } = found ?? (await readPiece(account, range, request))
      known = undefined
      isClosed = !more
      const hasNext = more && last < (request?.end ?? Number.POSITIVE_INFINITY)
      next = hasNext ? { ...range, isFirst: false, after: last, limit: nextLimit } : undefined
      return json
    }

    return async () => {
      if (next) return readNext(next)
      if (isClosed) return undefined
      isClosed = true
      return CLOSING
    }
  }

  /** Reads the plants of a page, whose end has to be known before its text. */
  async function readPage(account: string, { limit, after = 0, ...filter }: ListRange): Promise<PlantList> {
    await waitForRead(account)
    const { json, last, more } = await readOnce(JSON.stringify([account, { limit, after, ...filter }]))
    const next = more ? last : undefined
    if (json !== undefined) return { json: Buffer.from(`[${json}]`), next }
    return { json: readPieces(account, shrink({ limit, after, until: last, isFirst: true, ...filter })), next }
  }

  return {
    async read(account, { limit, ...bounds } = {}) {
      if (limit !== undefined) return readPage(account, { limit, ...bounds })
      const since = ++lastMoment
      const { version, last: end } = await readState(account)
      if (end === 0) return { json: EMPTY, next: undefined }
      const range = { ...bounds, after: bounds.after ?? 0, limit: FIRST_PIECE_PLANTS, isFirst: true }
      const isWhole = Object.values(bounds).every((bound) => bound === undefined)
      if (!isWhole) return { json: readPieces(account, { ...range, until: end }), next: undefined }
      const request = { version, since, end }
      const first = find(account, request, 0) ?? (await readPiece(account, range, request))
      return { json: first.more ? readPieces(account, range, request, first) : first.json, next: undefined }
    },
  }
}

function shrink(range: PieceRange): PieceRange {
  return { ...range, limit: Math.ceil(range.limit / 8) }
}

/** Not `Buffer.from`, with which a short text would keep a block of memory that it shares with others. */
function toBuffer(text: string): Buffer {
  const buffer = Buffer.allocUnsafeSlow(Buffer.byteLength(text))
  buffer.write(text)
  return buffer
}
