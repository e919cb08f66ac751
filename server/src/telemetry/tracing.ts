import { setTimeout as sleep } from 'node:timers/promises'
import type { RequestHandler } from 'express'
import type { Logger } from 'pino'
import { SettingsError } from '../settings/settings.ts'

/** Traces of requests, sent to a collector. */
export interface Tracing {
  /** Makes a span of each request, a child of the caller's where it sends `traceparent`. */
  middleware: RequestHandler
  /** Sends what has not been sent yet, for three seconds at most. */
  close(): Promise<void>
}

type Environment = Readonly<Record<string, string | undefined>>

const PROTOCOLS = ['http/protobuf', 'http/json'] as const
type Protocol = (typeof PROTOCOLS)[number]

/** Where OpenTelemetry sends traces unless the variables say otherwise. */
const DEFAULT_ENDPOINT = 'http://localhost:4318'
/** How many spans wait at most unless OTEL_BSP_MAX_QUEUE_SIZE says otherwise. */
const DEFAULT_MAX_WAITING = 2_048
/** How long a shutdown waits for the collector, in milliseconds: OpenTelemetry would wait ten seconds for each batch. */
const CLOSE_TIMEOUT = 3_000

/**
 * Starts tracing where the standard `OTEL_*` variables ask for it: `OTEL_TRACES_EXPORTER=otlp`, or the address of a
 * collector. Where they do not, nothing of OpenTelemetry is loaded. The spans are made here rather than by
 * patching Node.js: there is one kind of them.
 *
 * @throws SettingsError
 */
export async function startTracing(environment: Environment, logger: Logger): Promise<Tracing | undefined> {
  const protocol = requestedProtocol(environment)
  if (!protocol) return undefined
  const [
    { BatchSpanProcessor, NodeTracerProvider },
    { OTLPTraceExporter },
    resources,
    { traceRequest },
    { watchExport },
  ] = await Promise.all([
    import('@opentelemetry/sdk-trace-node'),
    protocol === 'http/json'
      ? import('@opentelemetry/exporter-trace-otlp-http')
      : import('@opentelemetry/exporter-trace-otlp-proto'),
    import('@opentelemetry/resources'),
    import('./trace-request.ts'),
    import('./watch-export.ts'),
  ])
  const named = resources.resourceFromAttributes({ 'service.name': 'plant-store' })
  const asked = resources.detectResources({ detectors: [resources.envDetector] })
  const watch = watchExport(new OTLPTraceExporter(), {
    logger,
    address: addressOf(environment),
    maxWaiting: Number(environment['OTEL_BSP_MAX_QUEUE_SIZE']) || DEFAULT_MAX_WAITING,
  })
  const provider = new NodeTracerProvider({
    resource: resources.defaultResource().merge(named).merge(asked),
    spanProcessors: [watch.limit(new BatchSpanProcessor(watch.exporter))],
  })
  provider.register()
  return {
    middleware: traceRequest,
    async close() {
      // What it fails with has been logged as lost.
      const sent = provider.shutdown().catch(() => {})
      await Promise.race([sent, sleep(CLOSE_TIMEOUT, undefined, { ref: false })])
      watch.close()
    },
  }
}

/** Where spans are sent, for people: without what may be a secret. */
function addressOf(environment: Environment): string {
  const endpoint =
    environment['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] || environment['OTEL_EXPORTER_OTLP_ENDPOINT'] || DEFAULT_ENDPOINT
  if (!URL.canParse(endpoint)) return 'not a URL'
  const { origin, pathname } = new URL(endpoint)
  return origin + pathname
}

function requestedProtocol(environment: Environment): Protocol | undefined {
  const exporter = environment['OTEL_TRACES_EXPORTER']
  const endpoint = environment['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] ?? environment['OTEL_EXPORTER_OTLP_ENDPOINT']
  const disabled = environment['OTEL_SDK_DISABLED']?.toLowerCase() === 'true' || exporter === 'none'
  if (disabled || (!exporter && !endpoint)) return undefined
  if (exporter && exporter !== 'otlp') throw new SettingsError('OTEL_TRACES_EXPORTER must be otlp or none')
  const protocol =
    environment['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'] ?? environment['OTEL_EXPORTER_OTLP_PROTOCOL'] ?? PROTOCOLS[0]
  const known = PROTOCOLS.find((candidate) => candidate === protocol)
  if (!known) throw new SettingsError(`OTEL_EXPORTER_OTLP_PROTOCOL must be ${PROTOCOLS.join(' or ')}`)
  return known
}
