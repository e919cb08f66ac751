/** Random choices that are the same again for the same seed. */
export interface Random {
  /** An integer from `minimum` to `maximum`, both included. */
  integer(minimum: number, maximum: number): number
  /** True in so many of a hundred cases. */
  percent(cases: number): boolean
  pick<Value>(values: readonly [Value, ...Value[]] | readonly Value[]): Value
}

/** Makes random choices from a seed (the generator is mulberry32). */
export function createRandom(seed: number): Random {
  let state = seed | 0

  function fraction(): number {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  const integer = (minimum: number, maximum: number) => minimum + Math.floor(fraction() * (maximum - minimum + 1))
  return {
    integer,
    percent: (cases) => fraction() * 100 < cases,
    pick<Value>(values: readonly Value[]) {
      if (values.length === 0) throw new RangeError('There is nothing to pick from')
      return values[integer(0, values.length - 1)] as Value
    },
  }
}
