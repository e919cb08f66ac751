/** Runs modules against fakes, whose events a seed puts into any order: fast-check's scheduler, with time as one of them. */
import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers/promises'
import fc from 'fast-check'
import { test } from 'vitest'
import { isNightly } from './long-tests.ts'

/** How many events an order may have. */
const MAX_EVENTS = 2_000
const realTurn = timers.setImmediate

/** How a call of a fake ends: as it should; before its effect or after it, with an error; after its error; or never. */
const fates = fc.infiniteStream(
  fc.constantFrom(...Array<'works'>(40).fill('works'), 'fails', 'is lost', 'is late', 'hangs'),
)

/** One order of events. */
export interface Order {
  /** Takes one step after the other, each with an event. */
  steps<Step>(all: readonly Step[], take: (step: Step) => void): void
  /** Waits until the order has this event. */
  event(name: string): Promise<void>
  /**
   * Calls a fake engine, which does what is asked at some event, and whose outcome arrives at another one.
   *
   * @param effect what it does, unless the call fails before
   * @param makeError creates what a call fails with
   */
  call<Result>(effect: () => Result, makeError: () => Error): Promise<Result>
  /**
   * Waits for what a client gets, which has to come unless a call of a fake hangs.
   *
   * @param mayFail whether it may get this error
   */
  client(response: Promise<unknown>, mayFail: (error: unknown) => boolean): void
  /** Lets time pass, in milliseconds, without an event. */
  pass(time: number): void
  /** Returns how many timers are set. */
  timers(): number
  /** Fails this order where something is not as the model says, also where the code under test catches errors. */
  expect(isSo: boolean, otherwise: string): void
}

type Replacement = readonly [target: object, replacements: object]

/** Replaces what modules import or use as a global. Returns what undoes it. */
function replace(all: readonly Replacement[]): () => void {
  const before = all.map(([target, replacements]): Replacement => {
    return [target, Object.fromEntries(Object.keys(replacements).map((name) => [name, Reflect.get(target, name)]))]
  })
  for (const [target, replacements] of all) Object.assign(target, replacements)
  syncBuiltinESMExports()
  return () => void replace(before)
}

/**
 * Creates timers of which the one that is due first fires with an event of the order. Turns of the event loop and the ends
 * of pauses are events too.
 */
function createTime(getEvent: () => Order['event']) {
  const waiting = new Set<{ at: number; fire(): void }>()
  let now = 1_000

  function fireFirst(): void {
    const [first] = [...waiting].sort((one, other) => one.at - other.at)
    if (!first) return
    waiting.delete(first)
    now = Math.max(now, first.at)
    first.fire()
  }
  function setTimer(run: () => void, delay = 1, isRepeated = false) {
    const timer = {
      at: now,
      fire() {
        if (isRepeated) timer.start()
        run()
      },
      start() {
        timer.at = now + Math.max(1, delay)
        waiting.add(timer)
        void getEvent()('time').then(fireFirst)
      },
      ref: () => timer,
      unref: () => timer,
    }
    timer.start()
    return timer
  }
  const clear = (timer: never) => void waiting.delete(timer)
  const globals = {
    setTimeout: (run: () => void, delay?: number) => setTimer(run, delay),
    setInterval: (run: () => void, delay?: number) => setTimer(run, delay, true),
    setImmediate: (run: () => void) => void getEvent()('turn').then(run),
    clearTimeout: clear,
    clearInterval: clear,
  }
  const promised = {
    setTimeout: (delay: number) => new Promise<void>((resolve) => setTimer(() => resolve(), delay)),
    setImmediate: () => getEvent()('turn'),
  }
  const replacements: Replacement[] = [
    [globalThis, globals],
    [timers, promised],
    [performance, { now: () => now }],
    [Math, { random: () => 0.5 }],
  ]
  return {
    replacements,
    pass(time: number) {
      now += time
    },
    count: () => waiting.size,
    clear: () => waiting.clear(),
  }
}

/**
 * Tests that code does what a model says in any order of events. A failure prints the seed that repeats it, and the
 * steps and the order that are left of it.
 *
 * @param count how many orders
 * @param step what clients and others do
 * @param run begins the steps, and returns what is true once all has happened, and no call fails any more
 * @param replacements what else is replaced, of a module or as a global
 */
export function testOrders<Step>(
  name: string,
  count: number,
  step: fc.Arbitrary<Step>,
  run: (order: Order, steps: readonly Step[]) => () => Promise<void>,
  replacements: readonly Replacement[] = [],
): void {
  let event: Order['event']
  const time = createTime(() => event)
  // After each event, everything runs that waits for no other one.
  const act = async (happen: () => Promise<void>) => {
    await happen()
    await realTurn()
  }
  const steps = fc.array(step, { minLength: 1, maxLength: 16, size: 'max' })
  const property = fc.asyncProperty(fc.scheduler({ act }), steps, fates, async (scheduler, steps, fates) => {
    const failures: string[] = []
    const pending = new Set<Promise<unknown>>()
    let [mayFail, hangs] = [true, false]
    event = (label) => scheduler.schedule(Promise.resolve(), label)
    time.clear()
    const order: Order = {
      steps(all, take) {
        scheduler.scheduleSequence(all.map((step) => async () => take(step)))
      },
      event,
      pass: time.pass,
      timers: time.count,
      expect: (isSo, otherwise) => void (isSo || failures.push(otherwise)),
      async call(effect, makeError) {
        const fate = mayFail ? fates.next().value : 'works'
        hangs ||= fate === 'hangs'
        await event('begin')
        if (fate === 'is late') void event('effect').then(effect)
        if (fate === 'fails' || fate === 'is late') throw makeError()
        const result = effect()
        await event('outcome')
        if (fate === 'is lost') throw makeError()
        return fate === 'hangs' ? new Promise(() => {}) : result
      },
      client(response, mayFail) {
        pending.add(response)
        const end = () => pending.delete(response)
        response.then(end, (error) => end() && (mayFail(error) || failures.push(`${error.stack}`)))
      },
    }
    const runAll = async () => {
      await realTurn()
      for (let left = MAX_EVENTS; scheduler.count() > 0; left--) {
        if (left === 0) throw new Error([...failures, 'It never ends'].join('\n'))
        await scheduler.waitOne()
      }
    }
    const end = run(order, steps)
    await runAll()
    if (!hangs && pending.size > 0) failures.push('a client waits for nothing')
    pending.clear()
    mayFail = false
    order.client(end(), () => false)
    await runAll()
    if (pending.size > 0) failures.push('a client waits at the end')
    if (failures.length > 0) throw new Error(failures.join('\n'))
  })
  test(name, async () => {
    const restore = replace([...time.replacements, ...replacements])
    try {
      await fc.assert(property, { numRuns: isNightly ? 10 * count : count })
    } finally {
      restore()
    }
  })
}
