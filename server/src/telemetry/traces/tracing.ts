import { setTimeout as sleep } from 'node:timers/promises'
import type { RequestHandler } from 'express'
import type { Logger } from 'pino'
import { readVersion } from '../../installation.ts'
import type { Settings } from '../../settings/settings.ts'

/** Sends traces of requests to a collector. */
export interface Tracing {
  /** Makes a span per request. Commits have theirs in the traces of their requests. */
  middleware: RequestHandler
  /** Sends what is left within a time in milliseconds, but for at least one second and at most three. */
  close(time: number): Promise<void>
}

/** OpenTelemetry's default. */
const DEFAULT_ENDPOINT = 'http://localhost:4318'
/** How long a shutdown waits for the collector, in milliseconds; OpenTelemetry would wait ten seconds per batch. */
const CLOSE_TIMEOUT = { min: 1_000, max: 3_000 }

/**
 * Starts tracing if OpenTelemetry's standard variables request it: `OTEL_TRACES_EXPORTER=otlp`, or an endpoint. Otherwise
 * nothing of OpenTelemetry is loaded.
 */
export async function startTracing(settings: Settings, logger: Logger): Promise<Tracing | undefined> {
  const endpoint = settings.otelExporterOtlpTracesEndpoint ?? settings.otelExporterOtlpEndpoint
  if (!settings.otelTracesExporter && !endpoint) return undefined
  const protocol = settings.otelExporterOtlpTracesProtocol ?? settings.otelExporterOtlpProtocol
  const [
    { BatchSpanProcessor, NodeTracerProvider },
    { OTLPTraceExporter },
    resources,
    { traceRequest },
    { traceCommits },
    { watchExport },
  ] = await Promise.all([
    import('@opentelemetry/sdk-trace-node'),
    protocol === 'http/json'
      ? import('@opentelemetry/exporter-trace-otlp-http')
      : import('@opentelemetry/exporter-trace-otlp-proto'),
    import('@opentelemetry/resources'),
    import('./trace-request.ts'),
    import('./trace-commits.ts'),
    import('./watch-export.ts'),
  ])
  const named = resources.resourceFromAttributes({ 'service.name': 'plant-store', 'service.version': readVersion() })
  const requested = resources.detectResources({ detectors: [resources.envDetector] })
  const watch = watchExport(new OTLPTraceExporter(), {
    logger,
    address: addressOf(endpoint ?? DEFAULT_ENDPOINT),
    maxWaiting: settings.otelBspMaxQueueSize,
  })
  const provider = new NodeTracerProvider({
    resource: resources.defaultResource().merge(named).merge(requested),
    spanProcessors: [watch.limit(new BatchSpanProcessor(watch.exporter))],
  })
  provider.register()
  const stopTracingCommits = traceCommits(settings.databaseUrl)
  return {
    middleware: traceRequest,
    async close(time) {
      stopTracingCommits()
      // Spans that cannot be sent are logged as lost.
      const sent = provider.shutdown().catch(() => {})
      const timeout = Math.min(CLOSE_TIMEOUT.max, Math.max(CLOSE_TIMEOUT.min, time))
      await Promise.race([sent, sleep(timeout, undefined, { ref: false })])
      watch.close()
    },
  }
}

/** The collector for the log: without what may be a secret. */
function addressOf(endpoint: string): string {
  if (!URL.canParse(endpoint)) return 'not a URL'
  const { origin, pathname } = new URL(endpoint)
  return origin + pathname
}
