/** The types of the options: with `exactOptionalPropertyTypes`, a token that may be undefined does not compile. */
import { expectTypeOf } from 'vitest'
import { type CallOptions, type ClientOptions, createPlantStoreClient, type TokenSource } from '../src/index.ts'

expectTypeOf<Required<CallOptions>['token']>().toEqualTypeOf<TokenSource>()
expectTypeOf<Required<ClientOptions>['baseUrl']>().toEqualTypeOf<string>()

declare const found: string | undefined
const client = createPlantStoreClient(found === undefined ? {} : { baseUrl: found, token: found })
void client.getPlants({}, { timeout: undefined, signal: undefined, headers: undefined })
// @ts-expect-error: the token of the environment must not take its place
createPlantStoreClient({ token: found })
// @ts-expect-error: the address of the environment must not take its place
createPlantStoreClient({ baseUrl: found })
// @ts-expect-error: the token of the client must not take its place
client.withOptions({ token: found })
// @ts-expect-error: the token of the client must not take its place
void client.getPlants({}, { token: found })
// @ts-expect-error: a function gives a token, or throws
createPlantStoreClient({ token: () => found })
