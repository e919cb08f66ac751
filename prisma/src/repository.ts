import { fileURLToPath } from 'node:url'

/** The default of DATABASE_URL, relative to the repository root. */
export const DEFAULT_DATABASE_URL = 'file:./data/plant-store.db'

/** What relative paths are relative to: the same folder from `src/` and from the compiled `dist/`. */
export const repositoryRoot = fileURLToPath(new URL('../../', import.meta.url))
