// Generated from the contract by `npm run generate`. Do not edit.

import type { RequestRules } from '../testing/service.ts'
import type { OperationName } from './routes.ts'

/** The fields of each operation, as the service checks them. */
export const requestRules: Record<OperationName, RequestRules> = {
  "createPlant": {
    "scope": "write",
    "path": {},
    "query": {},
    "body": {
      "id": {
        "required": true,
        "type": "integer",
        "message": "must be an integer between -9223372036854775808 and 9223372036854775807 (int64)",
        "minimum": BigInt("-9223372036854775808"),
        "maximum": BigInt("9223372036854775807")
      },
      "name": {
        "required": true,
        "type": "string",
        "message": "must be a string",
        "pattern": "^[^\\x00]*$"
      },
      "tag": {
        "required": false,
        "type": "string",
        "message": "must be a string",
        "pattern": "^[^\\x00]*$"
      }
    }
  },
  "getPlants": {
    "scope": "read",
    "path": {},
    "query": {
      "limit": {
        "required": false,
        "type": "integer",
        "message": "must be an integer between 1 and 1000",
        "minimum": 1,
        "maximum": 1000
      },
      "cursor": {
        "required": false,
        "type": "string",
        "message": "must be a string",
        "pattern": "^[^\\x00]*$"
      }
    },
    "body": {}
  }
}
