/** Creates numbers between 0 and 1, by a seed (Lehmer), which it prints: PLANT_STORE_FUZZ_SEED repeats a run. */
export function createRandom(): () => number {
  const seed = Number(process.env['PLANT_STORE_FUZZ_SEED'] ?? Date.now() % 2 ** 31)
  console.log(`PLANT_STORE_FUZZ_SEED=${seed} makes the same choices again.`)
  let state = (seed % 2_147_483_646) + 1
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}
