/**
 * The health check of a container: ends with exit code 0 if the server with these settings is ready. Without a private
 * port it is enough that the server responds.
 */
import { get } from 'node:http'
import { loadSettings } from './installation.ts'
import { readSettings } from './settings.ts'

/** In milliseconds. */
const TIMEOUT = 4_000

const { host, port, adminHost, adminPort } = readSettings(loadSettings())
const address = adminPort === undefined ? { host, port } : { host: adminHost, port: adminPort }
const isReady = (status: number) => status === 200 || (adminPort === undefined && status < 500)

const request = get({ ...address, host: reachable(address.host), path: '/readyz', timeout: TIMEOUT }, (response) => {
  response.pipe(process.stdout)
  if (!isReady(Number(response.statusCode))) process.exitCode = 1
})
request.on('timeout', () => request.destroy(new Error(`no response within ${TIMEOUT} ms`)))
request.on('error', ({ message }) => {
  console.error(`The server on ${address.host}, port ${address.port}, is not ready: ${message}`)
  process.exitCode = 1
})

/** Returns an address to connect to: that of this machine for a server that listens on all of them. */
function reachable(address: string): string {
  if (address === '0.0.0.0') return '127.0.0.1'
  return address === '::' ? '::1' : address
}
