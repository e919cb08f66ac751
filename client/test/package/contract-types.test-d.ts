/** The generated types equal the contract's, so a contract change without `npm run generate` does not compile. */
import type * as contract from '@plant-store/contract'
import { expectTypeOf } from 'vitest'
import type * as z from 'zod'
import type * as sdk from '../../src/index.ts'

type Query = z.output<typeof contract.contract.getPlants.query>
expectTypeOf<sdk.Plant>().toEqualTypeOf<contract.Plant>()
expectTypeOf<sdk.NewPlant>().toEqualTypeOf<contract.NewPlant>()
expectTypeOf<sdk.ErrorBody>().toEqualTypeOf<contract.ErrorBody>()
expectTypeOf<keyof sdk.GetPlantsQuery>().toEqualTypeOf<keyof Query>()
// A list may be readonly in the SDK.
expectTypeOf<Query>().toExtend<sdk.GetPlantsQuery>()
expectTypeOf<sdk.OperationName>().toEqualTypeOf<keyof typeof contract.contract>()

declare const client: sdk.PlantStoreClient
expectTypeOf(client.createPlant).returns.resolves.toEqualTypeOf<sdk.Plant>()
expectTypeOf(client.getPlants).returns.resolves.toEqualTypeOf<sdk.Plant[]>()
expectTypeOf(client.iterate.getPlants).returns.toEqualTypeOf<AsyncGenerator<sdk.Plant, void, undefined>>()

expectTypeOf(client.createPlant).parameter(0).toEqualTypeOf<sdk.NewPlant>()
// @ts-expect-error: createPlant is not paged
client.iterate.createPlant({ id: 1, name: 'Ficus' })

declare const created: sdk.CreatePlantError & { readonly kind: 'api' }
expectTypeOf(created.status).toEqualTypeOf<400 | 401 | 403 | 408 | 413 | 415 | 417 | 429 | 431 | 500 | 503>()
declare const listed: sdk.GetPlantsError & { readonly kind: 'api' }
expectTypeOf(listed.status).toEqualTypeOf<400 | 401 | 403 | 408 | 417 | 429 | 431 | 500 | 503>()
expectTypeOf<sdk.GetPlantsError['kind']>().toEqualTypeOf<sdk.ErrorKind>()
