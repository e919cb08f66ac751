import { TraceFlags } from '@opentelemetry/api'
import type { SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace-node'
import type { Logger } from 'pino'

/** Sees what becomes of the spans that are sent to a collector. */
export interface ExportWatch {
  /** The exporter, watched. */
  exporter: SpanExporter
  /** Passes spans on to a processor that uses the watched exporter, as long as not too many wait in it. */
  limit(processor: SpanProcessor): SpanProcessor
  /** Logs what has not been logged yet; what waits is lost from now on. */
  close(): void
}

/** What to watch an export with. */
export interface ExportWatchOptions {
  logger: Logger
  /** Where the spans are sent, without credentials. */
  address: string
  /** How many spans may wait; more are lost. */
  maxWaiting: number
}

/** The code of success in `ExportResult` of @opentelemetry/core. */
const SUCCESS = 0
/** How many milliseconds of losses one line tells of. */
const INTERVAL = 60_000

/**
 * Logs how many spans are lost while a collector does not take them: the first time immediately, then one line a minute at
 * most, and one line when it takes them again. Without it, OpenTelemetry loses them silently.
 */
export function watchExport(exporter: SpanExporter, { logger, address, maxWaiting }: ExportWatchOptions): ExportWatch {
  let waiting = 0
  let lost = 0
  let reason: string | undefined
  let failing = false
  let timer: NodeJS.Timeout | undefined

  function lose(count: number): void {
    lost += count
    if (!timer) write()
  }

  function write(): void {
    timer = undefined
    if (lost === 0) return
    logger.warn({ lostSpans: lost, collector: address, reason }, 'traces are lost: check the collector and its address')
    lost = 0
    timer = setTimeout(write, INTERVAL).unref()
  }

  function recover(): void {
    if (!failing) return
    failing = false
    clearTimeout(timer)
    timer = undefined
    logger.info({ lostSpans: lost, collector: address }, 'the collector accepts traces again')
    lost = 0
  }

  return {
    exporter: {
      export(spans, done) {
        exporter.export(spans, (result) => {
          waiting -= spans.length
          if (result.code === SUCCESS) recover()
          else {
            failing = true
            reason = result.error?.message
            lose(spans.length)
          }
          done(result)
        })
      },
      forceFlush: async () => exporter.forceFlush?.(),
      shutdown: () => exporter.shutdown(),
    },
    limit: (processor) => ({
      onStart: (span, context) => processor.onStart(span, context),
      onEnd(span) {
        if ((span.spanContext().traceFlags & TraceFlags.SAMPLED) === 0) return
        if (waiting >= maxWaiting) return lose(1)
        waiting++
        processor.onEnd(span)
      },
      forceFlush: () => processor.forceFlush(),
      shutdown: () => processor.shutdown(),
    }),
    close() {
      clearTimeout(timer)
      lost += waiting
      waiting = 0
      write()
      clearTimeout(timer)
    },
  }
}
