// What an app does that has the types of a platform: those of the DOM or of Node.js.
import { createPlantStoreClient } from '@plant-store/client'

export const client = createPlantStoreClient({
  baseUrl: 'https://example.com',
  fetch,
  signal: AbortSignal.timeout(1000),
})

export const counting = client.withOptions({
  fetch: (url, init) => fetch(url, { ...init, keepalive: true }),
  logger: console,
  signal: new AbortController().signal,
})

// @ts-expect-error: an AbortController is no signal
client.getPlants({}, { signal: new AbortController() })
