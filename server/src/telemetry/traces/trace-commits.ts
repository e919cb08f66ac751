import { type Attributes, type Context, context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { type BatchEnded, batchEnded, subscribe, writeQueued } from '../events.ts'
import { SCOPE } from './trace-request.ts'

/**
 * Makes a span of the commit in the trace of each request that it serves, so that a trace shows how long the database took.
 * The event `write queued` of the request's span shows how long the plant waited for the commit before. Names follow the
 * semantic conventions for databases.
 *
 * @param databaseUrl names the engine
 * @returns a function that stops it
 */
export function traceCommits(databaseUrl: string): () => void {
  const requests = new WeakMap<object, Context>()
  const system = databaseUrl.startsWith('file:') ? 'sqlite' : 'postgresql'

  function queue(write: object): void {
    requests.set(write, context.active())
    trace.getActiveSpan()?.addEvent('write queued')
  }

  function end({ writes, begin, error }: BatchEnded): void {
    const endTime = performance.now()
    const attributes = describeCommit(system, writes.length)
    const tracer = trace.getTracer(SCOPE)
    for (const write of writes) {
      const options = { kind: SpanKind.CLIENT, startTime: begin, attributes }
      const span = tracer.startSpan('commit plants', options, requests.get(write))
      if (error !== undefined) {
        span.setAttribute('error.type', typeOf(error)).setStatus({ code: SpanStatusCode.ERROR })
      }
      span.end(endTime)
    }
  }

  const ends = [subscribe(writeQueued, queue), subscribe(batchEnded, end)]
  return () => {
    for (const unsubscribe of ends) unsubscribe()
  }
}

function describeCommit(system: string, size: number): Attributes {
  return {
    'db.system.name': system,
    'db.collection.name': 'Plant',
    'db.operation.name': 'INSERT',
    // The conventions call two or more a batch.
    ...(size > 1 && { 'db.operation.batch.size': size }),
  }
}

/** Returns the code of an error of the database, or the name of its class. */
function typeOf(error: unknown): string {
  const { code, name } = error as { code?: unknown; name?: unknown }
  return String(code ?? name ?? '_OTHER')
}
