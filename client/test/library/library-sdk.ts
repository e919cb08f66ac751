import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { createProject, generateFrom } from '../helpers/generated-sdk.ts'
import { library } from './contract.ts'

/** A call of an operation, whose types `consumer/types.ts` checks. */
type Call = (...parameters: unknown[]) => Promise<unknown>

/** A client of the library. */
interface LibraryClient {
  readonly [operation: string]: Call
}

/** The ways to call an operation for its result. */
export type CallStyle = 'direct' | 'safe' | 'raw'

/** The generated SDK of the library. */
export interface LibrarySdk {
  readonly folder: string
  readonly generated: Record<string, string>
  createClient(options: object): Record<CallStyle | 'iterate', LibraryClient>
  /** Creates a library in memory: the options of a client. */
  createFake(): object
}

/** Generates the SDK of the library, with its fake. */
export async function createLibrarySdk(): Promise<LibrarySdk> {
  const generated = generateFrom(library)
  const folder = await createProject(generated)
  await writeFile(path.join(folder, 'src/testing/handlers.ts'), await readHandlers())
  const { createPlantStoreClient } = await import(path.join(folder, 'src/index.ts'))
  const { createFakePlantStore } = await import(path.join(folder, 'src/testing/index.ts'))
  return {
    folder,
    generated,
    createClient(options) {
      const client = createPlantStoreClient(options)
      return { ...client, direct: client }
    },
    createFake() {
      const { baseUrl, token, fetch } = createFakePlantStore()
      return { baseUrl, token, fetch }
    },
  }
}

/** Reads the handlers with their imports as they are in a project. */
async function readHandlers(): Promise<string> {
  const text = await readFile(path.join(import.meta.dirname, 'consumer/handlers.ts'), 'utf8')
  return text
    .replaceAll("'../../../src/", "'../")
    .replace("'../operations.ts'", `'${import.meta.dirname}/operations.ts'`)
}
