// Generated from the contract by `npm run generate`. Do not edit.

import type { RequestRules } from '../testing/input.ts'
import type { OperationName } from './routes.ts'

/** What the service accepts of each operation, in the order in which it compares paths. */
export const requestRules: Record<OperationName, RequestRules> = {
  "createPlant": {
    "pattern": "^/plants$",
    "scope": "write",
    "path": {},
    "query": {},
    "body": {
      "id": {
        "required": true,
        "types": [
          "int64"
        ],
        "patterns": [],
        "message": "must be an integer between -9223372036854775808 and 9223372036854775807 (int64)"
      },
      "name": {
        "required": true,
        "types": [
          "string"
        ],
        "patterns": [
          "^[^\\x00]*$"
        ],
        "message": "must be a string"
      },
      "tag": {
        "required": false,
        "types": [
          "string"
        ],
        "patterns": [
          "^[^\\x00]*$"
        ],
        "message": "must be a string"
      }
    }
  },
  "getPlants": {
    "pattern": "^/plants$",
    "scope": "read",
    "path": {},
    "query": {
      "limit": {
        "required": false,
        "types": [
          "integer"
        ],
        "minimum": 1,
        "maximum": 1000,
        "patterns": [],
        "message": "must be an integer between 1 and 1000"
      },
      "cursor": {
        "required": false,
        "types": [
          "string"
        ],
        "patterns": [
          "^[^\\x00]*$"
        ],
        "message": "must be a string"
      }
    },
    "body": {}
  }
}
