// Generated from the contract by `npm run generate`. Do not edit.

import { exactly } from '../wire/read-exactly.ts'
import { readObject } from '../wire/read.ts'
import type { Endpoint } from '../testing/endpoint.ts'
import type { OperationName } from './routes.ts'

/** How a service reads each operation. */
export const endpoints: Record<OperationName, Endpoint> = {
  createPlant: {
    scope: 'write',
    body: readObject(exactly({ id: 'int64' })),
  },
  getPlants: {
    scope: 'read',
    query: { limit: 'integer', cursor: 'text' },
  },
}
