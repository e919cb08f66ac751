/** Runs before each test file. */
import { registerCleanUp } from './temporary.ts'

registerCleanUp()
