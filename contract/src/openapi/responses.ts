import { type AppRoute, ContractNoBody } from '@ts-rest/core'
import type { ZodOpenApiOperationObject, ZodOpenApiResponseObject } from 'zod-openapi'
import { type ErrorName, ErrorSchema, errorCatalogue, statusOf } from '../errors.ts'
import { responseHeaders } from './headers.ts'
import { requireBody } from './schemas.ts'

/** Responses with these statuses never have a body (RFC 9110 sections 15.3.5, 15.3.6 and 15.4.5). */
const STATUSES_WITHOUT_BODY = [204, 205, 304]

/** Describes the responses of an operation. */
export function describeResponses(
  name: string,
  { responses }: AppRoute,
  paged: boolean,
): ZodOpenApiOperationObject['responses'] {
  return Object.fromEntries(
    Object.entries(responses).map(([text, body]) => {
      const status = Number(text)
      const description = { description: describeStatus(status), headers: responseHeaders(status, paged) }
      return [text, { ...description, ...content(status, body, `${name}: response ${text}`) }]
    }),
  ) as ZodOpenApiOperationObject['responses']
}

function content(status: number, body: unknown, place: string): Pick<ZodOpenApiResponseObject, 'content'> {
  if (body === ContractNoBody) return {}
  if (STATUSES_WITHOUT_BODY.includes(status)) throw new Error(`${place}: has no body; use c.noBody()`)
  const schema = requireBody(body, place, 'output')
  return {
    content: { 'application/json': { schema, ...(body === ErrorSchema && { examples: errorExamples(status) }) } },
  }
}

/** Creates an example of each error with a status. */
function errorExamples(status: number) {
  return Object.fromEntries(
    errorsWith(status).map((name) => {
      const { code, reason } = errorCatalogue[name]
      return [name, { summary: String(code), value: { error: code, message: reason } }]
    }),
  )
}

function describeStatus(status: number): string {
  if (status < 300) return 'Success.'
  if (status < 400) return 'Redirect.'
  const reasons = errorsWith(status).map((name) => `${errorCatalogue[name].code}: ${errorCatalogue[name].reason}`)
  return reasons.join('\n\n') || 'Error.'
}

function errorsWith(status: number): ErrorName[] {
  const names = Object.keys(errorCatalogue) as ErrorName[]
  return names.filter((name) => statusOf(name) === status)
}
