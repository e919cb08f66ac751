/** The same stack as tutorials wire it: express.json, ts-rest with its default options, one Prisma call a request. */
import { createHash } from 'node:crypto'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { contract } from '@plant-store/contract'
import { PrismaPg } from '@prisma/adapter-pg'
import { createExpressEndpoints, initServer } from '@ts-rest/express'
import express, { type RequestHandler } from 'express'
import { loadEngine } from '../../../prisma/src/address.ts'
import { PrismaClient as PostgresqlClient } from '../../../prisma/src/generated/postgresql/client.ts'
import type { PrismaClient } from '../../../prisma/src/generated/sqlite/client.ts'

const prisma = await connect(process.env['DATABASE_URL'] ?? '')
const accounts = new WeakMap<object, string>()

const authenticate: RequestHandler = async (request, response, next) => {
  const token = request.headers.authorization?.slice('Bearer '.length) ?? ''
  const row = await prisma.token.findUnique({ where: { hash: createHash('sha256').update(token).digest('hex') } })
  if (!row) {
    response.status(401).json({ error: 40102, message: 'unknown token' })
    return
  }
  accounts.set(request, row.account)
  next()
}

const accountOf = (request: object) => accounts.get(request) ?? ''

// What is measured, and no operation that comes later.
const { createPlant, getPlants } = contract
const measured = { createPlant, getPlants }

const router = initServer().router(measured, {
  createPlant: async ({ body, req }) => {
    const { name, tag } = await prisma.plant.create({
      data: { account: accountOf(req), id: String(body.id), name: body.name, tag: body.tag ?? null },
    })
    return { status: 200, body: { name, tag: tag ?? undefined } }
  },
  getPlants: async ({ req }) => {
    const rows = await prisma.plant.findMany({ where: { account: accountOf(req) }, orderBy: { seq: 'asc' } })
    return { status: 200, body: rows.map(({ name, tag }) => ({ name, tag: tag ?? undefined })) }
  },
})

const app = express()
app.use(express.json())
app.use(authenticate)
createExpressEndpoints(measured, router, app, { logInitialization: false, responseValidation: true })
app.listen(0, '127.0.0.1', function (this: Server) {
  console.log(JSON.stringify({ url: `http://127.0.0.1:${(this.address() as AddressInfo).port}`, msg: 'ready' }))
} as () => void)

/** The clients of both engines have the same methods. */
async function connect(url: string): Promise<Pick<PrismaClient, 'plant' | 'token'>> {
  if (url.startsWith('file:')) {
    const { open } = await loadEngine(url)
    return (await open(2_000)).prisma as PrismaClient
  }
  return new PostgresqlClient({ adapter: new PrismaPg(url) }) as unknown as PrismaClient
}
