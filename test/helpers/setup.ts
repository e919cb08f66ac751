/** Runs before each test file. */
import { registerCleanUp } from './after-file.ts'
import { rejectUndeclaredStatuses } from './server/declared-statuses.ts'

registerCleanUp()
rejectUndeclaredStatuses()
