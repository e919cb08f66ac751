/** Plain better-sqlite3 with the pragmas of the plant store behind node:http: one insert, one commit, one response. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import Database from 'better-sqlite3'

const database = new Database(process.env['DATABASE_FILE'])
database.pragma('journal_mode = WAL')
database.pragma('synchronous = FULL')
const insert = database.prepare('INSERT INTO "Plant" ("account", "id", "name", "tag") VALUES (?, ?, ?, ?)')

createServer((request, response) => {
  let body = ''
  request.setEncoding('utf8').on('data', (text: string) => {
    body += text
  })
  request.on('end', () => {
    const { id, name, tag } = JSON.parse(body)
    insert.run('bench', String(id), name, tag)
    const plant = Buffer.from(JSON.stringify({ name, tag }))
    response
      .writeHead(200, { 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': plant.length })
      .end(plant)
  })
}).listen(0, '127.0.0.1', function (this: Server) {
  console.log(JSON.stringify({ url: `http://127.0.0.1:${(this.address() as AddressInfo).port}`, msg: 'ready' }))
})
