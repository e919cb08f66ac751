// Generated from the contract by `npm run generate`. Do not edit.

import type { RequestRules } from '../testing/respond.ts'
import type { OperationName } from './routes.ts'

/** The fields of each operation, as the service checks them. */
export const requestRules: Record<OperationName, RequestRules> = {
  "createPlant": {
    "body": {
      "id": {
        "type": "integer",
        "format": "int64"
      },
      "name": {
        "type": "string",
        "pattern": "^[^\\x00]*$"
      },
      "tag": {
        "type": "string",
        "pattern": "^[^\\x00]*$"
      }
    }
  },
  "getPlants": {
    "query": {
      "limit": {
        "format": "int32",
        "type": "integer",
        "minimum": 1,
        "maximum": 1000
      },
      "cursor": {
        "type": "string",
        "pattern": "^[^\\x00]*$"
      }
    }
  }
}
