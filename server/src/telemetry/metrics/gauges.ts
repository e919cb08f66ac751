import { totalmem } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { getHeapStatistics } from 'node:v8'
import type { Database, DatabaseState } from '@plant-store/prisma'
import { Counter, Gauge, type Registry } from 'prom-client'
import { readVersion } from '../../installation.ts'
import type { Settings } from '../../settings/settings.ts'

/** What is read when the metrics are requested. */
export interface GaugeSources {
  engine: Database['engine']
  limits: Pick<Settings, 'maxConnections' | 'maxRequestsInFlight' | 'maxBodyMemory' | 'maxResponseMemory'>
  isReady(): Promise<boolean>
  openConnections(): number
  requestsInFlight(): number
  /** In bytes. */
  bodyMemory(): number
  /** In bytes. */
  responseMemory(): number
  waitingWrites(): number
  databaseState(): Promise<DatabaseState>
  /** Undefined if the database has no server. */
  databaseConnections: Database['connections'] | undefined
}

type Value = number | undefined

/** How long a value may take, in milliseconds: longer than `/readyz`, shorter than Prometheus waits. */
const TIMEOUT = 3_000
const POOL = { db_client_connection_pool_name: 'plant-store' }

/** Adds what is read at each scrape. What cannot be read, or not in time, is left out of it: a scrape never fails. */
export function addGauges(registry: Registry, sources: GaugeSources): void {
  const registers = [registry]
  addBuildInfo(registry, sources.engine)
  // They are read in this order: the pool before what the scrape itself asks PostgreSQL.
  if (sources.databaseConnections) addPool(registers, sources.databaseConnections)
  addLoad(registry, sources)
  addDatabase(registry, sources)
}

function addBuildInfo(registry: Registry, engine: string): void {
  new Gauge({
    name: 'plant_store_build_info',
    help: 'What runs: always 1.',
    labelNames: ['version', 'node_version', 'engine'],
    registers: [registry],
  }).set({ version: readVersion(), node_version: process.versions.node, engine }, 1)
}

/** A limit is a metric of its own, so that a rule can compare what is in use with it. */
function addLoad(registry: Registry, { limits, ...sources }: GaugeSources): void {
  const add = (name: string, help: string, read: () => Value | Promise<Value>) => addGauge(registry, name, help, read)
  add('plant_store_ready', '1 while /readyz responds 200, otherwise 0.', async () =>
    Number((await inTime(sources.isReady)) ?? false),
  )
  add('plant_store_open_connections', 'Open connections of clients.', sources.openConnections)
  add('plant_store_open_connections_limit', 'MAX_CONNECTIONS.', () => limits.maxConnections)
  add('plant_store_requests_in_flight', 'Requests that the process works on.', sources.requestsInFlight)
  add('plant_store_requests_in_flight_limit', 'MAX_REQUESTS_IN_FLIGHT.', () => limits.maxRequestsInFlight)
  add('plant_store_request_body_memory_bytes', 'Memory of request bodies being received.', sources.bodyMemory)
  add('plant_store_request_body_memory_limit_bytes', 'MAX_BODY_MEMORY.', () => limits.maxBodyMemory)
  add('plant_store_response_memory_bytes', 'Memory of responses waiting to be read.', sources.responseMemory)
  add('plant_store_response_memory_limit_bytes', 'MAX_RESPONSE_MEMORY.', () => limits.maxResponseMemory)
  add('plant_store_memory_limit_bytes', 'What the machine or the container has for the process.', memoryLimit)
  add('plant_store_heap_limit_bytes', 'Largest heap of Node.js.', () => getHeapStatistics().heap_size_limit)
  add('plant_store_waiting_writes', 'New plants waiting for a commit.', sources.waitingWrites)
}

function addDatabase(registry: Registry, { engine, databaseState }: GaugeSources): void {
  const add = (name: string, help: string, key: keyof DatabaseState) =>
    addGauge(registry, name, help, async () => (await databaseState())[key])
  add('plant_store_database_size_bytes', 'Size of the database, without the write-ahead log.', 'size')
  add('plant_store_last_backup_timestamp_seconds', 'When the last backup that succeeded ended; 0: none.', 'lastBackup')
  if (engine === 'sqlite') {
    add('plant_store_wal_bytes', 'Size of the write-ahead log of SQLite.', 'logSize')
    add('plant_store_disk_free_bytes', "Free space on the database's disk.", 'freeSpace')
  } else {
    addArchiveFailures(registry, databaseState)
  }
}

function addArchiveFailures(registry: Registry, databaseState: GaugeSources['databaseState']): void {
  new Counter({
    name: 'plant_store_archive_failures_total',
    help: 'How often PostgreSQL could not archive its write-ahead log.',
    registers: [registry],
    async collect() {
      const value = await inTime(async () => (await databaseState()).archiveFailures)
      if (value === undefined) this.remove()
      else {
        this.reset()
        this.inc(value)
      }
    },
  })
}

/** OpenTelemetry's names for a pool of connections. */
function addPool(registers: Registry[], read: NonNullable<Database['connections']>): void {
  const poolName = Object.keys(POOL)
  new Gauge({
    name: 'db_client_connection_count',
    help: 'Connections to PostgreSQL.',
    labelNames: [...poolName, 'db_client_connection_state'],
    registers,
    collect() {
      const { used, idle } = read()
      this.set({ ...POOL, db_client_connection_state: 'used' }, used)
      this.set({ ...POOL, db_client_connection_state: 'idle' }, idle)
    },
  })
  new Gauge({
    name: 'db_client_connection_max',
    help: 'Most connections to PostgreSQL: connection_limit of DATABASE_URL.',
    labelNames: poolName,
    registers,
  }).set(POOL, read().max)
  new Gauge({
    name: 'db_client_connection_pending_requests',
    help: 'Statements waiting for a connection to PostgreSQL.',
    labelNames: poolName,
    registers,
    collect() {
      this.set(POOL, read().waiting)
    },
  })
}

function addGauge(registry: Registry, name: string, help: string, read: () => Value | Promise<Value>): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    async collect() {
      const value = await inTime(read)
      if (value === undefined) this.remove()
      else this.set(value)
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
