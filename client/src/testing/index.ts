export { type ApiErrorOptions, createApiError } from './create-api-error.ts'
export {
  createFakePlantStore,
  type FakePlantStore,
  type FakePlantStoreOptions,
  type FakeRequest,
} from './fake-plant-store.ts'
export type { Fault } from './fault.ts'
export type { StoredPlant } from './handlers.ts'
export type { FakeToken } from './state.ts'
