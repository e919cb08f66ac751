import type { Contract } from '@plant-store/contract'

/** The plant that an account has before its exchange. */
export const FICUS = '{"id":1,"name":"Ficus"}'

/** A request of each operation, by default POST /plants, for an account that has {@link FICUS}, and its response. */
export const exchanges: Record<
  keyof Contract,
  [request: { method?: string; target?: string; body?: string }, response: { status: number; body: string }]
> = {
  createPlant: [{ body: '{"id":2,"name":"Aloe"}' }, { status: 200, body: '{"name":"Aloe"}' }],
  getPlants: [{ method: 'GET' }, { status: 200, body: '[{"name":"Ficus"}]' }],
}
