import { type Attributes, context, propagation, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import type { NextFunction, Request, Response } from 'express'
import { clientAddress, validAddress } from '../client-address.ts'
import { CLIENT_CLOSED_REQUEST } from '../events.ts'
import { finalStatus } from '../final-status.ts'

declare global {
  namespace Express {
    interface Request {
      /** The trace that the request belongs to, if requests are traced. */
      traceId?: string
    }
  }
}

/** The methods that the conventions know. */
const METHODS = new Set(['CONNECT', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'QUERY', 'TRACE'])
/** The name of the code that makes the spans. */
export const SCOPE = 'plant-store'
/** May be a token: no part of a path of the contract, or of a browser's name, is as long. */
const LONG_WORD = /[^/\s]{40,}/g
const MAX_TEXT = 500
/** A name or an address, and a port. */
const HOST = /^(\[[\da-f:.]+\]|(?:[\da-z-]{1,63}\.)*[\da-z-]{1,63})(?::(\d{1,5}))?$/i
const DEFAULT_PORTS: Record<string, number> = { http: 80, https: 443 }

/** Makes a span per request, a child of the client's span if it sends `traceparent`. */
export function traceRequest(request: Request, response: Response, next: NextFunction): void {
  const parent = propagation.extract(context.active(), request.headers)
  const options = { kind: SpanKind.SERVER, attributes: describeRequest(request) }
  const span = trace.getTracer(SCOPE).startSpan(nameOf(request.method), options, parent)
  request.traceId = span.spanContext().traceId
  response.once('close', () => endSpan(span, request, response))
  context.with(trace.setSpan(parent, span), next)
}

/**
 * Returns what is known when a request arrives, so that a sampler can use it. Names follow the semantic conventions for
 * HTTP. The query is left out, since it may hold a token.
 */
function describeRequest(request: Request): Attributes {
  const { method, protocol, httpVersion, headers, socket } = request
  return {
    'http.request.method': METHODS.has(method) ? method : '_OTHER',
    ...(!METHODS.has(method) && { 'http.request.method_original': method }),
    'url.scheme': protocol in DEFAULT_PORTS ? protocol : undefined,
    'url.path': redact(request.path),
    ...describeHost(request.host, protocol),
    'client.address': validAddress(clientAddress(request)),
    'network.peer.address': socket.remoteAddress,
    'network.protocol.version': httpVersion,
    'user_agent.original': redact(headers['user-agent']),
    'plant_store.request_id': request.requestId,
  }
}

/** A span needs a name of few values. */
function nameOf(method: string): string {
  return METHODS.has(method) ? method : 'HTTP'
}

function redact(text: string | undefined): string | undefined {
  return text?.replace(LONG_WORD, 'REDACTED').slice(0, MAX_TEXT)
}

/** Reads the host that the client has called, which may be a name of the proxy. */
function describeHost(host: string | undefined, protocol: string): Attributes {
  const [, address, port] = HOST.exec(host ?? '') ?? []
  return { 'server.address': address, 'server.port': address && port ? Number(port) : DEFAULT_PORTS[protocol] }
}

function endSpan(span: Span, request: Request, response: Response): void {
  const route: string | undefined = request.route?.path
  if (route !== undefined) span.updateName(`${nameOf(request.method)} ${route}`).setAttribute('http.route', route)
  const status = finalStatus(response)
  if (status === CLIENT_CLOSED_REQUEST) fail(span, 'client_disconnected')
  else {
    span.setAttribute('http.response.status_code', status)
    if (status >= 500) fail(span, String(status))
  }
  span.end()
}

function fail(span: Span, type: string): void {
  span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR })
}
