/** With `exactOptionalPropertyTypes`, a token that may be undefined does not compile. */
import { expectTypeOf } from 'vitest'
import { type CallOptions, type ClientOptions, createPlantStoreClient, type TokenSource } from '../../src/index.ts'

expectTypeOf<Required<CallOptions>['token']>().toEqualTypeOf<TokenSource | false>()
expectTypeOf<Required<ClientOptions>['baseUrl']>().toEqualTypeOf<string>()

declare const found: string | undefined
const client = createPlantStoreClient(found === undefined ? {} : { baseUrl: found, token: found })
void client.getPlants({}, { timeout: undefined, signal: undefined, headers: undefined })
// @ts-expect-error: true does not say which token
createPlantStoreClient({ token: true })
// @ts-expect-error: a token function returns a token, or throws
createPlantStoreClient({ token: () => found })
