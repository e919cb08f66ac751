/**
 * Plain `node:sqlite` with the pragmas of the plant store behind node:http: one statement and
 * one response for each request.
 */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { DatabaseSync } from 'node:sqlite'

const database = new DatabaseSync(String(process.env['DATABASE_FILE']))
database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
const insert = database.prepare('INSERT INTO "Plant" ("account", "id", "name", "tag") VALUES (?, ?, ?, ?)')
const select = database.prepare('SELECT "name", "tag" FROM "Plant" WHERE "account" = ? ORDER BY "seq"')

createServer((request, response) => {
  const send = (value: unknown) => {
    const json = Buffer.from(JSON.stringify(value))
    const headers = { 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': json.length }
    response.writeHead(200, headers).end(json)
  }
  if (request.method === 'GET') {
    send(select.all('bench'))
    return
  }
  let body = ''
  request.setEncoding('utf8').on('data', (text: string) => {
    body += text
  })
  request.on('end', () => {
    const { id, name, tag } = JSON.parse(body)
    insert.run('bench', String(id), name, tag)
    send({ name, tag })
  })
}).listen(0, '127.0.0.1', function (this: Server) {
  console.log(JSON.stringify({ url: `http://127.0.0.1:${(this.address() as AddressInfo).port}`, msg: 'ready' }))
})
