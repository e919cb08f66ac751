import { contract } from '@plant-store/contract'
import { Gauge, Histogram, type Registry } from 'prom-client'
import { CLIENT_CLOSED_REQUEST, type RequestEnded, requestBegan, requestEnded, subscribe } from '../events.ts'

/** The buckets that OpenTelemetry recommends for HTTP requests, in seconds. */
const DURATION_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
const operations = Object.values(contract)
const METHODS = new Set<string>(['HEAD', 'OPTIONS', ...operations.map(({ method }) => method)])

/**
 * Measures requests, by the names and labels of OpenTelemetry's semantic conventions for HTTP servers. Every operation has a
 * series for each status that the contract declares from the beginning.
 *
 * @param scheme that of the URLs that clients use: this process itself never sees TLS
 * @returns a function that stops measuring
 */
export function measureRequests(registry: Registry, scheme: string): () => void {
  const durations = new Histogram({
    name: 'http_server_request_duration_seconds',
    help: 'Duration of a request until its response is sent or its client disconnects.',
    labelNames: ['http_request_method', 'url_scheme', 'http_route', 'http_response_status_code', 'error_type'],
    buckets: DURATION_BUCKETS,
    registers: [registry],
  })
  const active = new Map<string, number>()
  new Gauge({
    name: 'http_server_active_requests',
    help: 'Requests whose response is not sent yet.',
    labelNames: ['http_request_method', 'url_scheme'],
    registers: [registry],
    collect() {
      for (const [method, count] of active) this.set(activeLabels(method, scheme), count)
    },
  })
  for (const { method, path, responses } of operations) {
    active.set(method, 0)
    for (const status of Object.keys(responses).map(Number)) {
      durations.zero(durationLabels({ method, route: path, status }, scheme))
    }
  }

  // Labels are built once for each series: a request costs a few lookups.
  const series = new Map<string, (seconds: number) => void>()
  function findSeries(request: Pick<RequestEnded, 'method' | 'route' | 'status'>): (seconds: number) => void {
    const { method, route, status } = request
    const key = `${status} ${method} ${route}`
    const known = series.get(key)
    if (known) return known
    const { observe } = durations.labels(durationLabels(request, scheme))
    series.set(key, observe)
    return observe
  }

  function addActive(method: string, change: number): void {
    active.set(method, (active.get(method) ?? 0) + change)
  }

  const stopCountingUp = subscribe(requestBegan, (method) => addActive(toLabel(method), 1))
  const stopMeasuring = subscribe(requestEnded, ({ method: sent, route, status, seconds }) => {
    const method = toLabel(sent)
    addActive(method, -1)
    findSeries({ method, route, status })(seconds)
  })
  return () => {
    stopCountingUp()
    stopMeasuring()
  }
}

/** A client may send any method. */
function toLabel(method: string): string {
  return METHODS.has(method) ? method : '_OTHER'
}

function activeLabels(method: string, scheme: string): Record<string, string> {
  return { http_request_method: method, url_scheme: scheme }
}

/** A label that does not apply is empty, which is the same as absent in Prometheus. */
function durationLabels(
  { method, route = '', status }: Pick<RequestEnded, 'method' | 'route' | 'status'>,
  scheme: string,
): Record<string, string | number> {
  const disconnected = status === CLIENT_CLOSED_REQUEST
  return {
    ...activeLabels(method, scheme),
    http_route: route,
    http_response_status_code: disconnected ? '' : status,
    error_type: disconnected ? 'client_disconnected' : status >= 500 ? status : '',
  }
}
