/**
 * An empty app of the same stack: Express and ts-rest with `express.json`, the same contract, a constant list and
 * nothing behind it. Like the plant store, it does without ETags, which would take a quarter of its time.
 */
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { contract } from '@plant-store/contract'
import { createExpressEndpoints, initServer } from '@ts-rest/express'
import express from 'express'

// What is measured, and no operation that comes later.
const { createPlant, getPlants } = contract
const measured = { createPlant, getPlants }
const plants = Array.from({ length: Number(process.env['PLANTS'] ?? 0) }, (_, id) => ({
  name: `Plant number ${id}`,
  tag: 'bench',
}))

const router = initServer().router(measured, {
  createPlant: async ({ body: { name, tag } }) => ({ status: 200, body: { name, tag } }),
  getPlants: async () => ({ status: 200, body: plants }),
})

const app = express().disable('etag').disable('x-powered-by')
app.use(express.json())
createExpressEndpoints(measured, router, app, { logInitialization: false })
app.listen(0, '127.0.0.1', function (this: Server) {
  console.log(JSON.stringify({ url: `http://127.0.0.1:${(this.address() as AddressInfo).port}`, msg: 'ready' }))
} as () => void)
