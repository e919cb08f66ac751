import { context, propagation, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import type { NextFunction, Request, Response } from 'express'

declare global {
  namespace Express {
    interface Request {
      /** The trace that the request belongs to, if requests are traced. */
      traceId?: string
    }
  }
}

/** Makes a span per request, a child of the client's span if it sends `traceparent`. */
export function traceRequest(request: Request, response: Response, next: NextFunction): void {
  const parent = propagation.extract(context.active(), request.headers)
  const options = {
    kind: SpanKind.SERVER,
    attributes: { 'http.request.method': request.method, 'url.path': request.path },
  }
  const span = trace.getTracer('plant-store').startSpan(request.method, options, parent)
  request.traceId = span.spanContext().traceId
  response.once('close', () => endSpan(span, request, response))
  context.with(trace.setSpan(parent, span), next)
}

/** Names follow the semantic conventions for HTTP. The query is left out, since it may hold a token. */
function endSpan(span: Span, request: Request, response: Response): void {
  const route: string | undefined = request.route?.path
  if (route !== undefined) span.updateName(`${request.method} ${route}`).setAttribute('http.route', route)
  span.setAttribute('plant_store.request_id', request.requestId)
  if (response.writableFinished) {
    span.setAttribute('http.response.status_code', response.statusCode)
    if (response.statusCode >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
  } else {
    span.setStatus({ code: SpanStatusCode.ERROR, message: 'the connection closed before the response was complete' })
  }
  span.end()
}
