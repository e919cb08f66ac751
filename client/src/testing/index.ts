export { type ApiErrorOptions, createApiError } from './create-api-error.ts'
export {
  createFakePlantStore,
  type FakePlantStore,
  type FakePlantStoreOptions,
  type FakeRequest,
  type FakeToken,
  type Fault,
  type StoredPlant,
} from './fake-plant-store.ts'
