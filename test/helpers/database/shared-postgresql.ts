import type { TestProject } from 'vitest/node'
import { startPostgresql } from './postgresql.ts'

/** Runs around the tests on PostgreSQL: starts the server that they share, with a migrated database to copy. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startPostgresql()
  project.provide('postgresql', { port: server.port })
  return server.remove
}
