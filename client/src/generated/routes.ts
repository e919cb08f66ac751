// Generated from the contract by `npm run generate`. Do not edit.

import { readIf } from '../wire/read.ts'
import { fields, int64, integer, isObject, object, quoted, text } from '../wire/write.ts'
import type { Route } from '../wire/read.ts'

/** The name of an operation. */
export type OperationName = 'createPlant' | 'getPlants'

/** How to send each operation, and how the service may respond. */
export const routes: Record<OperationName, Route> = {
  createPlant: {
    method: 'POST',
    path: '/plants',
    body: object({ id: int64, name: quoted(text) }, { tag: quoted(text) }),
    responses: { 200: readIf(isObject, JSON.parse) },
    declaredErrors: [400, 401, 403, 408, 413, 415, 417, 429, 431, 500, 503],
  },
  getPlants: {
    method: 'GET',
    path: '/plants',
    query: fields({}, { limit: integer, cursor: text }),
    responses: { 200: readIf(Array.isArray, JSON.parse) },
    paged: true,
    declaredErrors: [400, 401, 403, 408, 417, 429, 431, 500, 503],
  },
}
