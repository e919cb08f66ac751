// Generated from the contract by `pnpm generate`. Do not edit.

import type { Route } from '../wire/route.ts'
import type { OperationName } from './operations.ts'

/** How each operation is sent and what it may answer. */
export const routes: Record<OperationName, Route> = {
  createPlant: {
    method: 'POST',
    path: '/plants',
    body: { id: 'int64', name: 'text', 'tag?': 'text' },
    answer: 'object',
    declaredErrors: [400, 401, 403, 408, 413, 415, 417, 429, 431, 500, 503, 505],
  },
  getPlants: {
    method: 'GET',
    path: '/plants',
    query: { 'limit?': 'integer', 'cursor?': 'text' },
    answer: 'list',
    paged: true,
    declaredErrors: [400, 401, 403, 408, 417, 429, 431, 500, 503, 505],
  },
}
