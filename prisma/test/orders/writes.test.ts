import { EventEmitter } from 'node:events'
import workerThreads from 'node:worker_threads'
import fc from 'fast-check'
import { testOrders } from '../../../test/helpers/orders.ts'
import { StorageError } from '../../src/engine.ts'
import { createRunner, limitTime, TIMES } from '../../src/patience.ts'
import type { Result } from '../../src/sqlite/connection.ts'
import { toPlainError } from '../../src/sqlite/errors.ts'
import { openWriter } from '../../src/sqlite/writer.ts'

const step = fc.record({
  action: fc.constantFrom(...Array<'write'>(8).fill('write'), 'probe', 'probe', 'probe', 'read', 'close', 'crash'),
  fate: fc.constantFrom(...Array<'works'>(8).fill('works'), 'locked', 'locked', 'full', 'damaged', 'mistake', 'hangs'),
})
type Fate = 'works' | 'hangs' | keyof typeof errors

/** A statement, and what becomes of it. */
interface Command {
  name: string
  args: [sql?: string, parameters?: [Fate] | []]
}

const errors = {
  locked: new StorageError('locked', { fault: 'locked', isTemporary: true }),
  full: new StorageError('full', { fault: 'disk-full' }),
  damaged: new StorageError('damaged', { fault: 'damaged' }),
  mistake: new TypeError('mistake'),
}
let createThread: () => object
/** What `new Worker` creates. */
function Worker(): object {
  return createThread()
}

testOrders(
  'what is confirmed is stored once, and a late write keeps others out',
  2_000,
  step,
  (order, steps) => {
    const stored: number[] = []
    let numbers = 0
    let moment = 0
    const threads: Thread[] = []

    /** A thread that runs one command after the other, until one hangs. */
    class Thread extends EventEmitter {
      /** What was given up, and has no outcome. */
      readonly late = new Set<number>()
      readonly running = new Set<number>()
      isHung = false
      isKept = false
      isEnded = false
      commands = Promise.resolve()
      readonly attempts = new Map<number, number>()
      constructor() {
        super()
        threads.push(this)
      }
      ref(): void {
        this.isKept = true
      }
      unref(): void {
        this.isKept = false
      }
      async terminate(): Promise<void> {
        order.expect(!this.isEnded && this.running.size === 0, 'a thread ends twice, or with commands')
        this.isEnded = true
      }
      postMessage({ name, args: [sql, [fate = 'works'] = []] }: Command): void {
        this.running.add(Number(sql))
        this.commands = this.commands.then(() => this.run(name, Number(sql), fate))
      }
      async run(name: string, number: number, fate: Fate): Promise<void> {
        await order.event('begin')
        if (fate === 'hangs') this.isHung = true
        if (fate === 'hangs' || this.isEnded) return new Promise(() => {})
        const attempts = (this.attempts.get(number) ?? 0) + 1
        this.attempts.set(number, attempts)
        const error = fate === 'works' || (fate === 'locked' && attempts > 2) ? undefined : errors[fate]
        if (!error && name === 'runDurably') stored.push(number)
        await order.event('outcome')
        if (this.isEnded) return
        this.running.delete(number)
        this.late.delete(number)
        this.emit('message', 'of a watcher')
        this.emit('message', error ? { error: toPlainError(error) } : { result: name === 'close' || number })
        order.expect(this.isKept === this.running.size > 0, 'the process is kept for nothing, or not for a command')
      }
    }

    /** Opens the database as the engine does. */
    async function open() {
      const opened = openWriter('file')
      const thread = threads.at(-1) as Thread
      const writer = await opened
      const runner = createRunner({ read, write: writer.write }, TIMES.request, () => new StorageError('late'))
      const crashed = Promise.withResolvers<void>()
      const failure = undefined as { isDamage: boolean; at: number } | undefined
      return { thread, runner, writer, crashed, failure, passes: [] as Promise<void>[], isGone: false }
    }
    type Server = Awaited<ReturnType<typeof open>>

    async function read(_statement: unknown, [fate]: unknown[]): Promise<Result> {
      await order.event('read')
      if (fate === 'damaged') throw new StorageError(fate, { fault: fate })
      return { rows: [], rowCount: 0, columns: [] }
    }

    /** Notes why the database failed last, and throws it. Damage is not replaced by another failure. */
    function noteFailure(server: Server, error: unknown): never {
      const isFailure = error instanceof StorageError && error.fault !== 'locked'
      const isDamage = isFailure && error.fault === 'damaged'
      if (isDamage || (isFailure && !server.failure?.isDamage)) server.failure = { isDamage, at: ++moment }
      throw error
    }

    /** Runs a write or a probe, and expects that the gate does what the model says. */
    async function pass(server: Server, fate: Fate, isProbe = false): Promise<void> {
      const { thread, runner, writer } = server
      const number = ++numbers
      let begins = 0
      let isWriting = !isProbe
      let result: unknown
      const isClosed = thread.late.size > 0
      const send = async (failure: StorageError | undefined) => {
        order.expect(thread.late.size === 0, 'a write begins while one is late')
        const isDamage = failure && failure.fault === 'damaged'
        order.expect(isDamage === server.failure?.isDamage, `the last failure is taken for ${failure}`)
        begins++
        const begin = ++moment
        if (isProbe) isWriting = failure !== undefined
        const statement = { kind: 'write', sql: String(number), mayRunTwice: true } as const
        const sent = isWriting ? writer.write(statement, [fate], failure) : writer.send('run', statement.sql, [fate])
        result = await sent.catch((error) => noteFailure(server, error))
        if (server.failure && server.failure.at < begin) server.failure = undefined
      }
      const times = () => stored.filter((each) => each === number).length
      try {
        await runner.probe(send)
        order.expect(Number(result) === number, `${number} gets the result of ${result}`)
        order.expect(times() === (isWriting ? 1 : 0), `${number} is confirmed, and stored ${times()} times`)
      } catch (error) {
        const { message } = error as Error
        const isLate = message === 'late' && thread.running.has(number)
        if (isLate) thread.late.add(number)
        order.expect(begins > 0 || isClosed, 'a write fails without a reason')
        order.expect(message !== 'damaged' || fate === message || thread.late.size > 0, 'another damage is reported')
        const isUnknown = /late|ended/.test(message)
        order.expect(times() === 0 || (isUnknown && times() === 1), `${number} fails, and is stored ${times()} times`)
        if (isLate) noteFailure(server, error)
        throw error
      }
    }

    createThread = () => new Thread()
    let server = open()
    const expectClosed = ({ writer }: Server) =>
      order.client(writer.send('run', '0'), (error) => /ended|closed/.test((error as Error).message))
    const start = (current: Server, fate: Fate, isProbe = false) => {
      const passing = pass(current, fate, isProbe)
      current.passes.push(passing)
      const mayFail = (error: unknown) => ['late', 'damaged', fate].includes((error as Error).message)
      order.client(Promise.race([passing, current.crashed.promise]), mayFail)
    }

    const act = {
      write: start,
      probe: (current: Server, fate: Fate) => start(current, fate, true),
      read(current: Server, fate: Fate) {
        const reading = current.runner.run({ kind: 'read', sql: 'SELECT' }, [fate])
        order.client(
          reading.catch((error) => noteFailure(current, error)),
          (error) => /late|damaged/.test((error as Error).message),
        )
      },
      close(closed: Server) {
        server = open()
        const close = async () => {
          await Promise.allSettled(closed.passes)
          await limitTime(closed.writer.close(), TIMES.closeFile, () => new StorageError('late'))
          expectClosed(closed)
        }
        order.client(close(), (error) => (error as Error).message === 'late')
      },
      crash(crashed: Server) {
        crashed.thread.isEnded = true
        // As an uncaught exception.
        order.expect(crashed.thread.listenerCount('exit') === 1, 'the end of a thread is not noticed')
        try {
          crashed.thread.emit('exit')
        } catch {}
        expectClosed(crashed)
        crashed.crashed.resolve()
        server = open()
      },
    }
    async function take({ action, fate }: (typeof steps)[number]): Promise<void> {
      let current = await server
      while (current.isGone) current = await server
      current.isGone = action === 'close' || action === 'crash'
      act[action](current, fate)
    }
    order.steps(steps, (step) => void take(step))
    return async () => {
      const last = await server
      if (last.thread.isHung) act.crash(last)
      const getError = async () => pass(await server, 'works').catch((error) => error)
      while (await getError()) await order.event('retry')
      order.expect(order.timers() === 0, 'a timer stays')
    }
  },
  [[workerThreads, { Worker }]],
)
