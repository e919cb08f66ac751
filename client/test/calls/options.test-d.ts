/** With `exactOptionalPropertyTypes`, a token that may be undefined does not compile. */
import { expectTypeOf } from 'vitest'
import { type CallOptions, type ClientOptions, createPlantStoreClient, type TokenSource } from '../../src/index.ts'

expectTypeOf<Required<CallOptions>['token']>().toEqualTypeOf<TokenSource | false>()
expectTypeOf<Required<ClientOptions>['baseUrl']>().toEqualTypeOf<string>()

declare const found: string | undefined
const client = createPlantStoreClient(found === undefined ? {} : { baseUrl: found, token: found })
void client.getPlants({}, { timeout: undefined, signal: undefined, headers: undefined })
// @ts-expect-error: the environment's token must not replace it
createPlantStoreClient({ token: found })
// @ts-expect-error: the environment's URL must not replace it
createPlantStoreClient({ baseUrl: found })
// @ts-expect-error: the client's token must not replace it
client.withOptions({ token: found })
// @ts-expect-error: the client's token must not replace it
void client.getPlants({}, { token: found })
// @ts-expect-error: true does not say which token
createPlantStoreClient({ token: true })
// @ts-expect-error: a token function returns a token, or throws
createPlantStoreClient({ token: () => found })
