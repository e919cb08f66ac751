import { contract } from '@plant-store/contract'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { batchCommitted, busyRetried, type Event, requestEnded, requestRejected } from './events.ts'

/** What is read when the metrics are requested. */
export interface Gauges {
  requestsInFlight(): number
  waitingWrites(): number
  /** The size of the database's write-ahead log, in bytes; absent where this process does not write it. */
  logSize: (() => Promise<number>) | undefined
}

/** The metrics of this process, in Prometheus text format. */
export interface Metrics {
  contentType: string
  text(): Promise<string>
  close(): void
}

/** The buckets that OpenTelemetry recommends for HTTP requests, in seconds. */
const DURATION_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
const BATCH_BUCKETS = [1, 2, 5, 10, 20, 50, 100, 200, 500]
const METHODS = new Set<string>(['HEAD', 'OPTIONS', ...Object.values(contract).map(({ method }) => method)])

/** Starts counting events. */
export function createMetrics(gauges: Gauges): Metrics {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })

  const durations = new Histogram({
    name: 'http_server_request_duration_seconds',
    help: 'Duration of a request until its response is sent; status 499: the client disconnected before.',
    labelNames: ['method', 'route', 'status_code'],
    buckets: DURATION_BUCKETS,
    registers,
  })
  const rejected = new Counter({
    name: 'plant_store_rejected_total',
    help: 'Requests and connections that were rejected without being handled.',
    labelNames: ['reason'],
    registers,
  })
  const batches = new Histogram({
    name: 'plant_store_batch_size',
    help: 'New plants per commit.',
    buckets: BATCH_BUCKETS,
    registers,
  })
  const retries = new Counter({
    name: 'plant_store_busy_retries_total',
    help: 'Statements retried because the database was locked or did not respond.',
    registers,
  })
  gauge('http_server_active_requests', 'Requests in flight.', gauges.requestsInFlight)
  gauge('plant_store_waiting_writes', 'New plants waiting for a commit.', gauges.waitingWrites)
  if (gauges.logSize) gauge('plant_store_wal_bytes', 'Size of the write-ahead log of SQLite.', gauges.logSize)

  const subscriptions = [
    subscribe(requestEnded, ({ method, route, status, seconds }) => {
      durations.observe(
        { method: METHODS.has(method) ? method : '_OTHER', route: route ?? '', status_code: status },
        seconds,
      )
    }),
    subscribe(requestRejected, (reason) => rejected.inc({ reason })),
    subscribe(batchCommitted, (size) => batches.observe(size)),
    subscribe(busyRetried, () => retries.inc()),
  ]

  return {
    contentType: registry.contentType,
    text: () => registry.metrics(),
    close() {
      for (const unsubscribe of subscriptions) unsubscribe()
      registry.clear()
    },
  }

  function gauge(name: string, help: string, read: () => number | Promise<number>): void {
    new Gauge({
      name,
      help,
      registers,
      async collect() {
        this.set(await read())
      },
    })
  }
}

function subscribe<Message>(event: Event<Message>, listener: (message: Message) => void): () => void {
  event.subscribe(listener)
  return () => event.unsubscribe(listener)
}
