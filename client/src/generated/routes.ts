// Generated from the contract by `npm run generate`. Do not edit.

import type { Route } from '../wire/request.ts'

/** The name of an operation. */
export type OperationName = 'createPlant' | 'getPlants'

/** How to send each operation. */
export const routes: Record<OperationName, Route> = {
  createPlant: {
    method: "POST",
    path: "/plants",
    body: ["id","name","tag"],
    required: ["id","name"],
    int64s: {"id":true},
    status: 200,
    returns: "object",
  },
  getPlants: {
    method: "GET",
    path: "/plants",
    query: ["limit","cursor"],
    status: 200,
    returns: "array",
    paged: true,
  },
}
