import { migrateDatabase } from '@plant-store/prisma'
import type { TestProject } from 'vitest/node'
import { startPostgresql } from './postgresql.ts'

const TEMPLATE = 'template'

/** Runs around the tests on PostgreSQL: starts the server that they share, with a migrated database to copy. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startPostgresql()
  await migrateDatabase(server.url(TEMPLATE))
  project.provide('postgresql', { port: server.port, template: TEMPLATE })
  return server.remove
}
