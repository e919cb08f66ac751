import { TraceFlags } from '@opentelemetry/api'
import type { SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace-node'
import type { Logger } from 'pino'

/** Watches whether spans reach a collector. */
export interface ExportWatch {
  /** The exporter, watched. */
  exporter: SpanExporter
  /** Limits how many spans wait in a processor that uses the watched exporter. */
  limit(processor: SpanProcessor): SpanProcessor
  /** Logs what has not been logged yet; spans that still wait count as lost. */
  close(): void
}

/** Options of the watch. */
export interface ExportWatchOptions {
  logger: Logger
  /** The collector, without credentials. */
  address: string
  /** How many spans may wait; more are lost. */
  maxWaiting: number
}

/** The code of success in `ExportResult` of @opentelemetry/core. */
const SUCCESS = 0
/** The period that one line covers, in milliseconds. */
const INTERVAL = 60_000

/**
 * Logs how many spans are lost while a collector is unavailable: immediately, then at most one line per minute, and one
 * when it accepts them again. OpenTelemetry alone would lose them silently.
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
    logger.warn(
      { event: 'spans lost', lostSpans: lost, collector: address, reason },
      'traces are lost: check the collector and its address',
    )
    lost = 0
    timer = setTimeout(write, INTERVAL).unref()
  }

  function recover(): void {
    if (!failing) return
    failing = false
    clearTimeout(timer)
    timer = undefined
    logger.info({ event: 'spans accepted', lostSpans: lost, collector: address }, 'the collector accepts traces again')
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
