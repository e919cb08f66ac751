// Generated from the contract by `npm run generate`. Do not edit.

import type { RequestRules } from '../testing/check.ts'
import type { OperationName } from './routes.ts'

/** The scopes of a token. */
export const scopes = ["read","write"] as const

/** A scope of a token. */
export type Scope = (typeof scopes)[number]

/** What the service accepts of each operation. */
export const requestRules: Record<OperationName, RequestRules> = {
  createPlant: {
    scope: "write",
    body: {"type":"object","properties":{"id":{"type":"integer","format":"int64"},"name":{"type":"string","pattern":"^[^\\x00]*$"},"tag":{"type":"string","pattern":"^[^\\x00]*$"}},"required":["id","name"]},
    int64s: { id: 'int64' },
  },
  getPlants: {
    scope: "read",
    query: {"type":"object","properties":{"limit":{"type":"integer","minimum":1,"maximum":1000,"format":"int32"},"cursor":{"type":"string","pattern":"^[^\\x00]*$"}},"required":[]},
  },
}
