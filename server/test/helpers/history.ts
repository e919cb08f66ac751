/**
 * What clients did and saw, and whether a service that keeps its promises can have responded like that. The list of an
 * account is a log: plants are added at its end.
 */

/** What a client did: the plant that it sent, or the plants that it was shown. A plant is the number of `plantOf`. */
export interface Operation {
  readonly kind: 'create' | 'list'
  readonly account: string
  /** When it was sent, and when its response had arrived: each event has a number of its own, in order. */
  readonly begin: number
  readonly end: number
  /** Whether it was confirmed; `unknown` after a 503 or without a response: it may have happened, or happen later. */
  readonly outcome: 'confirmed' | 'rejected' | 'unknown'
  /** The plant that was sent; those that were listed: undefined is one that nobody sends. */
  readonly plants: readonly (number | undefined)[]
}

/**
 * Returns what cannot have happened, each in a sentence.
 *
 * @param history with a list of each account that begins after everything else has ended
 */
export function findViolations(history: readonly Operation[]): string[] {
  return [...Map.groupBy(history, ({ account }) => account)].flatMap(([account, own]) => findIn(account, own))
}

function findIn(account: string, history: readonly Operation[]): string[] {
  const lists = history
    .filter(({ kind, outcome }) => kind === 'list' && outcome === 'confirmed')
    .toSorted((one, other) => one.begin - other.begin)
  const log = lists.at(-1)?.plants ?? []
  const places = new Map(log.map((plant, place) => [plant, place]))
  const violations: string[] = []
  const report = (sentence: string) => violations.push(`${account}: ${sentence}`)
  if (places.size < log.length) report('a plant is listed twice')

  const creates = history.filter(({ kind }) => kind === 'create')
  const sent = new Map(creates.map((create) => [create.plants[0], create]))
  for (const plant of log) if (!sent.has(plant)) report(`${plant} is listed, and was never sent`)
  for (const { plants, outcome } of creates) {
    const isListed = places.has(plants[0])
    if (outcome === 'rejected' && isListed) report(`${plants[0]} was rejected, and is listed`)
    if (outcome === 'confirmed' && !isListed) report(`${plants[0]} was confirmed, and is not listed`)
  }

  // Of those before a plant, none may have been sent after the plant was confirmed.
  let lastSent = 0
  for (const plant of log) {
    const { begin = 0, end = 0, outcome } = sent.get(plant) ?? {}
    if (outcome === 'confirmed' && end < lastSent) report(`${plant} is listed after one that was sent later`)
    lastSent = Math.max(lastSent, begin)
  }

  const confirmed = creates.filter(({ outcome }) => outcome === 'confirmed')
  for (const list of lists) {
    const { plants, begin } = list
    const name = `the list at ${begin}`
    if (plants.some((plant, place) => plant !== log[place])) report(`${name} is not the beginning of the last list`)
    const placeOf = (create: Operation) => places.get(create.plants[0]) ?? -1
    const missing = confirmed.find((create) => create.end < begin && placeOf(create) >= plants.length)
    if (missing) report(`${name} lacks ${missing.plants[0]}, which was confirmed before`)
    const longer = lists.find((other) => other.end < begin && other.plants.length > plants.length)
    if (longer) report(`${name} is shorter than that at ${longer.begin}`)
  }
  return violations
}
