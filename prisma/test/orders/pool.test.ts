import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import pg from 'pg'
import { testOrders } from '../../../test/helpers/orders.ts'
import { StorageError } from '../../src/engine.ts'
import { TIMES } from '../../src/patience.ts'
import { readAddress } from '../../src/postgresql/address.ts'
import { openSharedPool } from '../../src/postgresql/pool.ts'

const LIMIT = 2
const TIMEOUT = 4_300
const lost = Object.assign(new Error('Connection terminated unexpectedly'), { code: 'ECONNRESET' })
const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
const mistake = Object.assign(new Error('mistake'), { code: '42601' })

const step = fc.record({
  action: fc.constantFrom('statement', 'statement', 'transaction'),
  fate: fc.constantFrom(...Array<'works'>(6).fill('works'), 'mistake', 'lost', 'silent'),
  /** Which statement of a transaction that becomes of. */
  at: fc.nat(3),
  /** What becomes of the next connection. */
  connecting: fc.constantFrom('works', 'works', 'works', 'refused', 'hangs'),
})
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

/** A connection: what the driver has, and what the server does. */
interface Client {
  readonly connection: { readonly stream: Socket }
  emit(event: 'error', error: Error): void
  _queryable: boolean
  closed?: Promise<unknown>
  isBusy?: boolean
  isSilent?: boolean
  isEnding?: boolean
  /** Whose transaction it has. */
  owner?: number | undefined
}
type Settle = (error?: Error, result?: object) => void
interface Server {
  connect(client: Client, settle: Settle): void
  query(client: Client, text: string): Promise<object>
}
let server: Server
const driver = {
  connect(this: Client, settle: Settle) {
    server.connect(this, settle)
  },
  query(this: Client, query: string | { text: string }, _values?: unknown, settle?: Settle) {
    const result = server.query(this, typeof query === 'string' ? query : query.text)
    if (settle) void result.then((value) => settle(undefined, value), settle)
    return settle ? undefined : result
  },
  end(this: Client, settle?: Settle) {
    this.isEnding = true
    this.connection.stream.destroy()
    settle?.()
  },
}

testOrders(
  'a connection has one user, and is opened after the one before',
  2_000,
  step,
  (order, steps) => {
    const waiting = [...steps]
    const stored: number[] = []
    /** What becomes of whose statements. */
    const plans = new Map<number, { fate: Step['fate']; at: number }>()
    const open = new Set<Client>()
    let connecting: Client | undefined
    let mayConnectAt = 0

    server = {
      connect(client, settle) {
        const fate = waiting.shift()?.connecting ?? 'works'
        order.expect(!connecting, 'two connections are opened together')
        order.expect(performance.now() >= mayConnectAt, 'a connection is opened too soon after one that failed')
        connecting = client
        client.closed = once(client.connection.stream, 'close')
        const end = (error?: Error) => {
          if (connecting !== client) return
          connecting = undefined
          if (error) mayConnectAt = performance.now() + TIMES.pause
          else open.add(client)
          order.expect(open.size <= LIMIT, 'too many connections are open')
          settle(error)
        }
        client.connection.stream.once('close', () => {
          end(lost)
          open.delete(client)
          client._queryable = false
          if (!client.isBusy && !client.isEnding) client.emit('error', lost)
        })
        if (fate !== 'hangs') void order.event('connection').then(() => end(fate === 'works' ? undefined : refused))
      },

      async query(client, text) {
        const [kind = ''] = /BEGIN|COMMIT$|ROLLBACK/.exec(text) ?? []
        const number = Number(/\d+$/.exec(text)?.[0] ?? client.owner)
        const plan = plans.get(number)
        const fate = plan && plan.at-- === 0 ? plan.fate : 'works'
        order.expect(!client.isBusy, 'two statements run on a connection')
        order.expect(
          client.owner === undefined || client.owner === number,
          'a statement runs in the transaction of another',
        )
        client.isBusy = true
        client.isSilent ||= fate === 'silent'
        const response = client.isSilent ? sleep(TIMEOUT) : order.event(`${kind} ${number}`)
        await Promise.race([response, client.closed])
        client.isBusy = false
        if (!client._queryable) throw lost
        if (client.isSilent) throw new Error('Query read timeout')
        if (fate === 'mistake') throw mistake
        if (kind === 'COMMIT' || (kind === '' && client.owner === undefined)) stored.push(number)
        client.owner = kind === 'BEGIN' ? number : kind === '' ? client.owner : undefined
        if (fate === 'lost') client.connection.stream.destroy()
        if (fate === 'lost') throw lost
        return { rows: [[number]], fields: [] }
      },
    }

    const pool = openSharedPool(readAddress(`postgresql://x@x/x?connection_limit=${LIMIT}`), TIMEOUT)
    const act = {
      statement: async (number: number) => (await pool.run({ text: `SELECT ${number}` })).rows,
      async transaction(number: number) {
        await using transaction = await pool.beginTransaction(`-- ${number}`)
        const { rows } = await transaction.run({ text: `SELECT ${number}` })
        await transaction.commit()
        return rows
      },
    }
    async function run(number: number, action: Step['action']): Promise<void> {
      const [[result] = []] = await act[action](number)
      order.expect(result === number, `${number} gets the result of ${result}`)
      const times = stored.filter((each) => each === number).length
      order.expect(times === 1, `${number} is confirmed, and stored ${times} times`)
    }
    let numbers = 0
    order.steps(steps, ({ action, fate, at }) => {
      plans.set(++numbers, { fate, at: action === 'statement' ? 0 : at })
      order.client(run(numbers, action), (error) => error instanceof StorageError || error === mistake)
    })
    return async () => {
      const works = () =>
        run(++numbers, 'statement').then(
          () => true,
          () => false,
        )
      while (!(await works())) await sleep(TIMES.pause)
      const { totalCount, idleCount, waitingCount } = pool.driver
      order.expect(
        totalCount === idleCount && waitingCount === 0,
        `${totalCount - idleCount} connections are not released`,
      )
      order.expect(open.size === idleCount, `${open.size} connections are open, and ${idleCount} idle`)
      await pool[Symbol.asyncDispose]()
      await order.event('closed')
      order.expect(open.size === 0, 'a connection stays open')
    }
  },
  [[pg.Client.prototype, driver]],
)
