export { type ApiErrorOptions, createApiError } from './create-api-error.ts'
export { createFakePlantStore, type FakePlantStore, type FakePlantStoreOptions } from './fake-plant-store.ts'
export type { FakeRequest, FakeToken, Fault, StoredPlant } from './types.ts'
