import { EventEmitter } from 'node:events'
import workerThreads from 'node:worker_threads'
import fc from 'fast-check'
import { testOrders } from '../../../test/helpers/orders.ts'
import { StorageError } from '../../src/engine.ts'
import { createRunner, limitTime, TIMES } from '../../src/patience.ts'
import { toPlainError } from '../../src/sqlite/errors.ts'
import { openWriter } from '../../src/sqlite/writer.ts'

const step = fc.record({
  action: fc.constantFrom(...Array<'write'>(8).fill('write'), 'probe', 'probe', 'probe', 'close', 'crash'),
  fate: fc.constantFrom(...Array<'works'>(8).fill('works'), 'locked', 'locked', 'full', 'full', 'mistake', 'hangs'),
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
  mistake: new TypeError('mistake'),
}
const late = new StorageError('late')
const neverRead = () => Promise.reject(new Error('a statement is read'))
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
        this.emit('message', { 'of a watcher': [] })
        this.emit('message', error ? { error: toPlainError(error) } : { result: name === 'close' || number })
        order.expect(this.isKept === this.running.size > 0, 'the process is kept for nothing, or not for a command')
      }
    }

    /** Opens the database as the engine does. */
    async function open() {
      const opened = openWriter('file')
      const thread = threads.at(-1) as Thread
      const writer = await opened
      const { probe } = createRunner({ read: neverRead, write: writer.write }, TIMES.request, () => late)
      const crashed = Promise.withResolvers<void>()
      const failure: unknown = undefined
      return { thread, probe, writer, crashed, failure, passes: [] as Promise<void>[], isGone: false }
    }
    type Server = Awaited<ReturnType<typeof open>>

    /** Runs a write or a probe, and expects that the gate does what the model says. */
    async function pass(server: Server, fate: Fate, isProbe = false): Promise<void> {
      const { thread, probe, writer } = server
      const number = ++numbers
      let begins = 0
      let isWriting = !isProbe
      let before: unknown
      let result: unknown
      const isClosed = thread.late.size > 0
      const send = async (failure: StorageError | undefined) => {
        order.expect(thread.late.size === 0, 'a write begins while one is late')
        order.expect(failure === server.failure, `the last failure is taken for ${failure}`)
        begins++
        before = failure
        if (isProbe) isWriting = failure !== undefined
        const statement = { kind: 'write', sql: String(number), mayRunTwice: true } as const
        result = await (isWriting
          ? writer.write(statement, [fate], failure)
          : writer.send('run', statement.sql, [fate]))
      }
      const times = () => stored.filter((each) => each === number).length
      try {
        await probe(send)
        if (before === server.failure) server.failure = undefined
        order.expect(Number(result) === number, `${number} gets the result of ${result}`)
        order.expect(times() === (isWriting ? 1 : 0), `${number} is confirmed, and stored ${times()} times`)
      } catch (error) {
        const isLate = error === late && thread.running.has(number)
        if (isLate) thread.late.add(number)
        if (isLate || (error as Error).message === 'full') server.failure = error
        order.expect(begins > 0 || isClosed, 'a write fails without a reason')
        order.expect(
          times() === 0 || (error === late && times() === 1),
          `${number} fails, and is stored ${times()} times`,
        )
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
      const mayFail = (error: unknown) => error === late || (error as Error).message === fate
      order.client(Promise.race([passing, current.crashed.promise]), mayFail)
    }

    const act = {
      write: start,
      probe: (current: Server, fate: Fate) => start(current, fate, true),
      close(closed: Server) {
        server = open()
        const close = async () => {
          await Promise.allSettled(closed.passes)
          await limitTime(closed.writer.close(), TIMES.closeFile, () => late)
          expectClosed(closed)
        }
        order.client(close(), (error) => error === late)
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
