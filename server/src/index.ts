export type { NewToken, Token, TokenStore } from './accounts/token-store.ts'
export { type AppDependencies, createApp } from './app.ts'
export { readSettings, type Settings, SettingsError } from './settings.ts'
export { type RunningServer, StartError, startServer } from './start-server.ts'
