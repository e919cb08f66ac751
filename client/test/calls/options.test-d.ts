/** With `exactOptionalPropertyTypes`, a token that may be undefined does not compile; `kind` tells errors apart. */
import { createPlantStoreClient, type Issue, PlantStoreError } from '../../src/index.ts'

declare const found: string | undefined
const client = createPlantStoreClient(found === undefined ? {} : { baseUrl: found, token: found })
void client.getPlants({}, { timeout: undefined, signal: undefined, headers: undefined })
// @ts-expect-error: the token may be undefined
createPlantStoreClient({ token: found })
// @ts-expect-error: the base URL may be undefined
createPlantStoreClient({ baseUrl: found })
// @ts-expect-error: true does not say which token
createPlantStoreClient({ token: true })
// @ts-expect-error: a token function returns a token, or throws
createPlantStoreClient({ token: () => found })

declare const thrown: unknown
if (thrown instanceof PlantStoreError && thrown.kind === 'api') thrown.status satisfies number
if (thrown instanceof PlantStoreError && thrown.kind === 'usage') thrown.issues satisfies readonly Issue[]
