// A process that serves the plant store, and reports its heap after a garbage collection.
import { startServer } from '../../src/index.ts'

const [databaseUrl = '', accounts = '0', bodyLimit = '0'] = process.argv.slice(2)
const server = await startServer({ port: 0, databaseUrl, bodyLimit: Number(bodyLimit) })
const tokens = await Promise.all(
  Array.from({ length: Number(accounts) }, async (_, index) => {
    const account = `account ${index}`
    const [both, readOnly] = await Promise.all([
      server.tokens.create({ account }),
      server.tokens.create({ account, scopes: ['read'] }),
    ])
    return { both: both.token, readOnly: readOnly.token }
  }),
)

process.on('message', () => {
  globalThis.gc?.()
  process.send?.(process.memoryUsage().heapUsed)
})
process.on('disconnect', () => void server.close().then(() => process.exit(0)))
process.send?.({ url: server.url, tokens })
