import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { unusedDatabaseUrl } from '../../../test/helpers/database/databases.ts'

const SERVE = fileURLToPath(new URL('serve.ts', import.meta.url))

/** The tokens of an account. */
export interface AccountTokens {
  both: string
  readOnly: string
}

/** A server in another process, so that its memory can be measured. */
export interface FuzzedServer extends AsyncDisposable {
  url: string
  /** The tokens of each account. */
  tokens: AccountTokens[]
  /** Returns the bytes in use on the heap after a garbage collection. */
  heapUsed(): Promise<number>
}

/** Starts a server with a number of accounts. */
export async function startFuzzedServer(accounts: number, bodyLimit: number): Promise<FuzzedServer> {
  const child = fork(SERVE, [unusedDatabaseUrl(), String(accounts), String(bodyLimit)], {
    execArgv: ['--expose-gc', '--conditions=@plant-store/source'],
  })
  const ended = once(child, 'exit')
  const nextMessage = async <Message>() => {
    const failure = ended.then(([code]) => {
      throw new Error(`the server ended with ${code}`)
    })
    const [message] = await Promise.race([once(child, 'message'), failure])
    return message as Message
  }
  const started = await nextMessage<{ url: string; tokens: AccountTokens[] }>()
  return {
    ...started,
    heapUsed() {
      child.send('heap')
      return nextMessage<number>()
    },
    async [Symbol.asyncDispose]() {
      if (child.connected) child.disconnect()
      await ended
    },
  }
}
