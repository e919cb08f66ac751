/** Random choices, reproducible from their seed. */
export interface Random {
  /** Returns an integer from `min` to `max`, both included. */
  integer(min: number, max: number): number
  /** Returns true with this probability in percent. */
  percent(cases: number): boolean
  pick<Value>(values: readonly [Value, ...Value[]] | readonly Value[]): Value
}

/** Creates random choices from a seed, with mulberry32. */
export function createRandom(seed: number): Random {
  let state = seed | 0

  function fraction(): number {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  const integer = (min: number, max: number) => min + Math.floor(fraction() * (max - min + 1))
  return {
    integer,
    percent: (cases) => fraction() * 100 < cases,
    pick<Value>(values: readonly Value[]) {
      if (values.length === 0) throw new RangeError('There is nothing to pick from')
      return values[integer(0, values.length - 1)] as Value
    },
  }
}
