import { totalmem } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { getHeapStatistics } from 'node:v8'
import type { DatabaseState } from '@plant-store/prisma'
import { Counter, Gauge, type Registry } from 'prom-client'
import type { Dependencies } from '../../dependencies.ts'
import { readVersion } from '../../installation.ts'
import type { Settings } from '../../settings/settings.ts'

/** What the metrics read. */
export interface MetricSources {
  dependencies: Dependencies
  settings: Settings
  isReady(): Promise<boolean>
  openConnections(): number
}

type Labels = Record<string, string>
/** A value, or values by their labels. */
type Reading = number | undefined | readonly [labels: Labels, value: number][]

/** How long a value may take, in milliseconds: longer than `/readyz`, shorter than Prometheus waits. */
const TIMEOUT = 3_000
const POOL = { db_client_connection_pool_name: 'plant-store' }

/** Adds what is read at each scrape. A value that cannot be read in time is left out: a scrape never fails. */
export function addGauges(registry: Registry, { dependencies, settings, ...sources }: MetricSources): void {
  const { database, loadShedding, bodyMemory, responseMemory, plants } = dependencies
  const { engine, connections: pool } = database
  const registers = [registry]

  function add(name: string, help: string, read: () => Reading | Promise<Reading>, ...labelNames: string[]): void {
    async function collect(this: Gauge): Promise<void> {
      const reading = await inTime(read)
      if (reading === undefined) this.remove()
      else if (typeof reading === 'number') this.set(reading)
      else for (const [labels, value] of reading) this.set(labels, value)
    }
    new Gauge({ name, help, labelNames, registers, collect })
  }

  const stateOf = (key: keyof DatabaseState) => async () => (await database.state())[key]

  const build = { version: readVersion(), node_version: process.versions.node, engine }
  add('plant_store_build_info', 'What runs: always 1.', () => [[build, 1]], ...Object.keys(build))
  // The gauges are read in this order: the pool first, before the scrape itself uses a connection.
  if (pool) {
    const states = () => Object.entries({ used: pool().used, idle: pool().idle })
    const count = () =>
      states().map(([state, value]): [Labels, number] => [{ ...POOL, db_client_connection_state: state }, value])
    const names = Object.keys(POOL)
    const maxHelp = 'Most connections to PostgreSQL: connection_limit of DATABASE_URL.'
    const pendingHelp = 'Statements waiting for a connection to PostgreSQL.'
    add('db_client_connection_count', 'Connections to PostgreSQL.', count, ...names, 'db_client_connection_state')
    add('db_client_connection_max', maxHelp, () => [[POOL, pool().max]], ...names)
    add('db_client_connection_pending_requests', pendingHelp, () => [[POOL, pool().waiting]], ...names)
  }

  // A limit is a metric of its own, so that a rule can compare what is in use with it.
  const isReady = async () => Number((await inTime(sources.isReady)) ?? false)
  add('plant_store_ready', '1 while /readyz responds 200, otherwise 0.', isReady)
  add('plant_store_open_connections', 'Open connections of clients.', sources.openConnections)
  add('plant_store_open_connections_limit', 'MAX_CONNECTIONS.', () => settings.maxConnections)
  add('plant_store_requests_in_flight', 'Requests that the process works on.', loadShedding.inFlight)
  add('plant_store_requests_in_flight_limit', 'MAX_REQUESTS_IN_FLIGHT.', () => settings.maxRequestsInFlight)
  add('plant_store_request_body_memory_bytes', 'Memory of request bodies until they are parsed.', bodyMemory.used)
  add('plant_store_request_body_memory_limit_bytes', 'MAX_BODY_MEMORY.', () => settings.maxBodyMemory)
  add('plant_store_response_memory_bytes', 'Memory of responses waiting to be read.', responseMemory.used)
  add('plant_store_response_memory_limit_bytes', 'MAX_RESPONSE_MEMORY.', () => settings.maxResponseMemory)
  add('plant_store_memory_limit_bytes', 'What the machine or the container has for the process.', memoryLimit)
  add('plant_store_heap_limit_bytes', 'Largest heap of Node.js.', () => getHeapStatistics().heap_size_limit)
  add('plant_store_waiting_writes', 'New plants waiting for a commit.', plants.waitingWrites)

  const backupHelp = 'When the last backup that succeeded ended; 0: none.'
  add('plant_store_database_size_bytes', 'Size of the database, without the write-ahead log.', stateOf('size'))
  add('plant_store_last_backup_timestamp_seconds', backupHelp, stateOf('lastBackup'))
  if (engine === 'sqlite') {
    add('plant_store_wal_bytes', 'Size of the write-ahead log of SQLite.', stateOf('logSize'))
    add('plant_store_disk_free_bytes', "Free space on the database's disk.", stateOf('freeSpace'))
  } else {
    addArchiveFailures(registry, stateOf('archiveFailures'))
  }
}

function addArchiveFailures(registry: Registry, read: () => Promise<number | undefined>): void {
  new Counter({
    name: 'plant_store_archive_failures_total',
    help: 'How often PostgreSQL could not archive its write-ahead log.',
    registers: [registry],
    async collect() {
      const failures = await inTime(read)
      this.reset()
      if (failures === undefined) this.remove()
      else this.inc(failures)
    },
  })
}

/** Reads a value; undefined if that fails or takes too long. */
async function inTime<Result>(read: () => Result | Promise<Result>): Promise<Result | undefined> {
  try {
    return await Promise.race([read(), sleep(TIMEOUT, undefined, { ref: false })])
  } catch {
    return undefined
  }
}

function memoryLimit(): number {
  return Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY)
}
