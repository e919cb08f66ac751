import { errorCatalogue } from '@plant-store/contract'
import { type Database, storageFaults } from '@plant-store/prisma'
import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client'
import {
  authenticationFailed,
  batchCommitted,
  busyRetried,
  rejections,
  requestRejected,
  subscribe,
  writesRejected,
} from '../events.ts'
import { addGauges, type GaugeSources } from './gauges.ts'
import { measureRequests } from './measure-requests.ts'

/** What the metrics read. */
export interface MetricSources extends GaugeSources {
  /** Recognizes an error of the database that may go away. */
  failure: Database['failure']
}

/** The metrics of this process, in Prometheus text format. */
export interface Metrics {
  contentType: string
  text(): Promise<string>
  close(): void
}

const BATCH_BUCKETS = [1, 2, 5, 10, 20, 50, 100, 200, 500]
/** A write that fails for another reason than storage, which is a 500. */
const INTERNAL = 'internal'
const UNAUTHENTICATED = /^401/

/**
 * Starts counting events. Every counter of an enumeration begins with 0: the first event is then an increase, which a rule
 * can see. No label has a value that a client chooses.
 *
 * @param scheme that of the URLs that clients use
 */
export function createMetrics(scheme: 'http' | 'https', { failure, ...sources }: MetricSources): Metrics {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })

  const countRejection = addCounter(registry, {
    name: 'plant_store_rejected_total',
    help: 'Requests and connections that were rejected without being handled.',
    label: 'reason',
    values: rejections,
  })
  const countAuthenticationFailure = addCounter(registry, {
    name: 'plant_store_authentication_failures_total',
    help: 'Requests without a valid token, by the number of their Error body.',
    label: 'code',
    values: Object.values(errorCatalogue)
      .map(({ code }) => String(code))
      .filter((code) => UNAUTHENTICATED.test(code)),
  })
  const countWriteRejection = addCounter(registry, {
    name: 'plant_store_writes_rejected_total',
    help: 'New plants that could not be stored.',
    label: 'reason',
    values: [...storageFaults, INTERNAL],
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

  const unsubscribes = [
    measureRequests(registry, scheme),
    subscribe(requestRejected, (reason) => countRejection(reason)),
    subscribe(authenticationFailed, ({ code }) => countAuthenticationFailure(String(code))),
    subscribe(batchCommitted, (size) => batches.observe(size)),
    subscribe(busyRetried, () => retries.inc()),
    subscribe(writesRejected, ({ count, error }) => countWriteRejection(failure(error)?.fault ?? INTERNAL, count)),
  ]
  addGauges(registry, sources)

  return {
    contentType: registry.contentType,
    text: () => registry.metrics(),
    close() {
      for (const unsubscribe of unsubscribes) unsubscribe()
      registry.clear()
    },
  }
}

/** A counter with one label. */
interface LabelledCounter {
  name: string
  help: string
  label: string
  /** Every value of the label. */
  values: readonly string[]
}

/** Adds a counter that begins with 0 for every value of its label, and returns what counts. */
function addCounter(
  registry: Registry,
  { name, help, label, values }: LabelledCounter,
): (value: string, count?: number) => void {
  const counter = new Counter({ name, help, labelNames: [label], registers: [registry] })
  for (const value of values) counter.inc({ [label]: value }, 0)
  return (value, count) => counter.inc({ [label]: value }, count)
}
