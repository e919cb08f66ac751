/**
 * The floor: a bare node:http server that checks nothing, stores nothing on disk and keeps the text of its list in
 * memory. What the others are measured against.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const plants = Number(process.env['PLANTS'] ?? 0)
let items = Array.from({ length: plants }, (_, id) =>
  JSON.stringify({ name: `Plant number ${id}`, tag: 'bench' }),
).join(',')
let list: Buffer | undefined

function add(body: string): string {
  const { name, tag } = JSON.parse(body)
  const plant = JSON.stringify({ name, tag })
  // Without a list to read, it keeps nothing: a million plants would slow it down.
  if (plants === 0) return plant
  items += `,${plant}`
  list = undefined
  return plant
}

createServer((request, response) => {
  const headers = { 'Content-Type': 'application/json; charset=utf-8' }
  if (request.method === 'GET') {
    list ??= Buffer.from(`[${items}]`)
    response.writeHead(200, { ...headers, 'Content-Length': list.length }).end(list)
    return
  }
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    // A decoder of the stream, by `setEncoding`, takes a third more; a short text is sent together with the headers.
    const plant = add(Buffer.concat(chunks).toString())
    response.writeHead(200, { ...headers, 'Content-Length': Buffer.byteLength(plant) }).end(plant)
  })
}).listen(0, '127.0.0.1', function (this: import('node:net').Server) {
  console.log(JSON.stringify({ url: `http://127.0.0.1:${(this.address() as AddressInfo).port}`, msg: 'ready' }))
})
