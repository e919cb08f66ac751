export type { NewToken, Token, TokenStore } from './accounts/token-store.ts'
export { StartError } from './http/ports.ts'
export { readSettings, type Settings, SettingsError } from './settings.ts'
export { type RunningServer, startServer } from './start-server.ts'
