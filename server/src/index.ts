export { createNewToken, type NewToken, type Token } from './accounts/tokens.ts'
export { OperatorError } from './operator-error.ts'
export { readSettings, type Settings } from './settings.ts'
export { type RunningServer, startServer } from './start-server.ts'
