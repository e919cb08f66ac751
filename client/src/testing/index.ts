export { type ApiErrorOptions, createApiError } from './create-api-error.ts'
export { createFakePlantStore, type FakePlantStore, type FakePlantStoreOptions } from './fake-plant-store.ts'
export type { FakeRequest, Fault } from './fetch.ts'
export type { FakeToken, StoredPlant } from './respond.ts'
