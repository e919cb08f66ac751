import type { RequestHandler } from 'express'
import { SettingsError } from '../settings.ts'

/** Traces of requests, sent to a collector. */
export interface Tracing {
  /** Makes a span of each request, a child of the caller's where it sends `traceparent`. */
  middleware: RequestHandler
  /** Sends what has not been sent yet. */
  close(): Promise<void>
}

type Environment = Readonly<Record<string, string | undefined>>

const PROTOCOLS = ['http/protobuf', 'http/json'] as const
type Protocol = (typeof PROTOCOLS)[number]

/**
 * Starts tracing where the standard `OTEL_*` variables ask for it: `OTEL_TRACES_EXPORTER=otlp`, or the address of a
 * collector. Where they do not, nothing of OpenTelemetry is loaded. The spans are made here rather than by
 * patching Node.js: there is one kind of them.
 *
 * @throws SettingsError
 */
export async function startTracing(environment: Environment): Promise<Tracing | undefined> {
  const protocol = requestedProtocol(environment)
  if (!protocol) return undefined
  const [{ BatchSpanProcessor, NodeTracerProvider }, { OTLPTraceExporter }, resources, { traceRequest }] =
    await Promise.all([
      import('@opentelemetry/sdk-trace-node'),
      protocol === 'http/json'
        ? import('@opentelemetry/exporter-trace-otlp-http')
        : import('@opentelemetry/exporter-trace-otlp-proto'),
      import('@opentelemetry/resources'),
      import('./trace-request.ts'),
    ])
  const named = resources.resourceFromAttributes({ 'service.name': 'plant-store' })
  const asked = resources.detectResources({ detectors: [resources.envDetector] })
  const provider = new NodeTracerProvider({
    resource: resources.defaultResource().merge(named).merge(asked),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  })
  provider.register()
  return { middleware: traceRequest, close: () => provider.shutdown() }
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
