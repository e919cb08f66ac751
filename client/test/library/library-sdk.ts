import path from 'node:path'
import { createProject, generateFrom } from '../helpers/generated-sdk.ts'
import { library } from './contract.ts'

/** A call of an operation, whose types `consumer/types.ts` checks. */
type Call = (...parameters: unknown[]) => Promise<unknown>

/** A client of the library. */
export interface LibraryClient {
  readonly [operation: string]: Call
}

/** The ways to call an operation, and its result. */
export type CallStyle = 'direct' | 'safe' | 'raw'

/** The generated SDK of the library. */
export interface LibrarySdk {
  readonly folder: string
  readonly generated: Record<string, string>
  createClient(options: object): Record<CallStyle | 'iterate', LibraryClient>
}

/** Generates the SDK of the library. */
export async function createLibrarySdk(): Promise<LibrarySdk> {
  const generated = generateFrom(library)
  const folder = await createProject(generated)
  const { createPlantStoreClient } = await import(path.join(folder, 'src/index.ts'))
  return {
    folder,
    generated,
    createClient(options) {
      const client = createPlantStoreClient(options)
      return { ...client, direct: client }
    },
  }
}
