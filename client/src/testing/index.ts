export {
  createFakePlantStore,
  type FakePlantStore,
  type FakePlantStoreOptions,
  type FakeRequest,
  type FakeToken,
  type StoredPlant,
} from './fake-plant-store.ts'
export type { Trouble } from './trouble.ts'
