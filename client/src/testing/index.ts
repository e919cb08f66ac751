export {
  createFakePlantStore,
  type FakePlantStore,
  type FakePlantStoreOptions,
  type FakeRequest,
} from './fake-plant-store.ts'
export type { Fault } from './fault.ts'
export type { FakeToken, StoredPlant } from './state.ts'
