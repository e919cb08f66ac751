import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { temporaryDatabase } from '../../../test/helpers/temporary-folder.ts'

const SERVE = fileURLToPath(new URL('serve.ts', import.meta.url))

/** The tokens of an account. */
export interface AccountTokens {
  both: string
  readOnly: string
}

/** A server in a process of its own, so that its memory is its own. */
export interface FuzzedServer extends AsyncDisposable {
  url: string
  /** Those of each account. */
  tokens: AccountTokens[]
  /** The bytes in use on the heap after a garbage collection. */
  heapUsed(): Promise<number>
}

/** Starts a server with so many accounts. */
export async function startFuzzedServer(accounts: number, bodyLimit: number): Promise<FuzzedServer> {
  const child = fork(SERVE, [temporaryDatabase().url, String(accounts), String(bodyLimit)], {
    execArgv: ['--expose-gc', '--import', import.meta.resolve('tsx'), '--conditions=@plant-store/source'],
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
