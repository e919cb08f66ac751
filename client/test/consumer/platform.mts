// An app with DOM or Node.js types.
import { createPlantStoreClient } from '@plant-store/client'

export const client = createPlantStoreClient({
  baseUrl: 'https://example.com',
  fetch,
  signal: AbortSignal.timeout(1000),
})

export const counting = client.withOptions({
  fetch: (url, init) => fetch(new Request(url, { ...init, keepalive: true })),
  signal: new AbortController().signal,
})
