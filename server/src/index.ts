export type { NewToken, Token, TokenStore } from './accounts/tokens.ts'
export { StartError } from './http/ports.ts'
export { readSettings, type Settings, SettingsError } from './settings.ts'
export { type RunningServer, startServer } from './start-server.ts'
