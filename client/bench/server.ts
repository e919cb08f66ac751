/** A minimal server: GET responds with a constant list of 100 plants, POST with a constant plant. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const plants = Array.from({ length: 100 }, (_, id) => ({ name: `Monstera deliciosa ${id}`, tag: 'aroid' }))
const list = Buffer.from(JSON.stringify(plants))
const plant = Buffer.from(JSON.stringify(plants[0]))
const headers = { 'content-type': 'application/json; charset=utf-8', 'x-request-id': 'bench' }

const server = createServer((request, response) => {
  request.resume().on('end', () => {
    const body = request.method === 'GET' ? list : plant
    response.writeHead(200, { ...headers, 'content-length': body.length }).end(body)
  })
})
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port))
