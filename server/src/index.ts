export { OperatorError } from '@plant-store/prisma'
export type { NewToken, Token, TokenStore } from './accounts/tokens.ts'
export { readSettings, type Settings } from './settings.ts'
export { type RunningServer, startServer } from './start-server.ts'
