// Generated from the contract by `npm run generate`. Do not edit.

import type { Route } from '../wire/route.ts'

/** The name of an operation. */
export type OperationName = 'createPlant' | 'getPlants'

/** How to send each operation, and how the service may respond. */
export const routes: Record<OperationName, Route> = {
  createPlant: {
    method: 'POST',
    path: '/plants',
    body: { id: 'int64', name: 'text', 'tag?': 'text' },
    response: 'object',
    declaredErrors: [400, 401, 403, 408, 413, 415, 417, 429, 431, 500, 503, 505],
  },
  getPlants: {
    method: 'GET',
    path: '/plants',
    query: { 'limit?': 'integer', 'cursor?': 'text' },
    response: 'list',
    paged: true,
    declaredErrors: [400, 401, 403, 408, 417, 429, 431, 500, 503, 505],
  },
}
