/** The generated types equal the contract's, so a contract change without `npm run generate` does not compile. */
import type {
  ErrorBody as ContractError,
  NewPlant as ContractNewPlant,
  Plant as ContractPlant,
  contract,
} from '@plant-store/contract'
import { expectTypeOf } from 'vitest'
import type * as z from 'zod'
import type {
  CreatePlantError,
  ErrorBody,
  ErrorKind,
  GetPlantsError,
  GetPlantsQuery,
  NewPlant,
  OperationName,
  Plant,
  PlantStoreClient,
} from '../../src/index.ts'

expectTypeOf<Plant>().toEqualTypeOf<ContractPlant>()
expectTypeOf<NewPlant>().toEqualTypeOf<ContractNewPlant>()
expectTypeOf<ErrorBody>().toEqualTypeOf<ContractError>()
expectTypeOf<keyof GetPlantsQuery>().toEqualTypeOf<keyof z.output<typeof contract.getPlants.query>>()
// A list may be readonly in the SDK.
expectTypeOf<z.output<typeof contract.getPlants.query>>().toExtend<GetPlantsQuery>()
expectTypeOf<OperationName>().toEqualTypeOf<keyof typeof contract>()

declare const client: PlantStoreClient
expectTypeOf(client.createPlant).returns.resolves.toEqualTypeOf<Plant>()
expectTypeOf(client.getPlants).returns.resolves.toEqualTypeOf<Plant[]>()
expectTypeOf(client.iterate.getPlants).returns.toEqualTypeOf<AsyncGenerator<Plant, void, undefined>>()

expectTypeOf(client.createPlant).parameter(0).toEqualTypeOf<NewPlant>()
// @ts-expect-error: createPlant is not paged
client.iterate.createPlant({ id: 1, name: 'Ficus' })

declare const created: CreatePlantError & { readonly kind: 'api' }
expectTypeOf(created.status).toEqualTypeOf<400 | 401 | 403 | 408 | 413 | 415 | 417 | 429 | 431 | 500 | 503>()
declare const listed: GetPlantsError & { readonly kind: 'api' }
expectTypeOf(listed.status).toEqualTypeOf<400 | 401 | 403 | 408 | 417 | 429 | 431 | 500 | 503>()
expectTypeOf<GetPlantsError['kind']>().toEqualTypeOf<ErrorKind>()
