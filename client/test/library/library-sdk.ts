import path from 'node:path'
import { createProject, generateFrom } from '../helpers/generated-sdk.ts'
import { library } from './contract.ts'

/** A client of the library. `consumer/types.ts` checks the types of its operations. */
interface LibraryClient {
  readonly [operation: string]: (...parameters: unknown[]) => Promise<unknown>
}

/** The generated SDK of the library. */
export interface LibrarySdk {
  readonly folder: string
  readonly generated: Record<string, string>
  createClient(options: object): Record<'direct' | 'safe' | 'raw' | 'iterate', LibraryClient>
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
