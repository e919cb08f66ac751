import type { RequestValidationError } from '@ts-rest/express'
import { HttpError } from '../../http-error.ts'

type ValidationError = NonNullable<RequestValidationError['body']>

/** How many invalid fields a message names. */
const MAX_ISSUES = 3

/** Converts ts-rest's validation error into a failure that names the fields, but never their values. */
export function toValidationError({ pathParams, headers, query, body }: RequestValidationError): HttpError {
  if (pathParams) return new HttpError('notFound', describeIssues(pathParams, 'The path'))
  if (headers) return new HttpError('badRequest', describeIssues(headers, 'The headers'))
  if (query) return new HttpError('invalidQuery', describeIssues(query, 'The query'))
  if (body) return new HttpError('invalidBody', describeIssues(body, 'The body'))
  return new HttpError('badRequest')
}

/** Writes the path and the message of the schema for each issue: `name: is required; tag: must be a string`. */
function describeIssues({ issues }: ValidationError, whole: string): string {
  const sentences = issues.slice(0, MAX_ISSUES).map(({ path = [], message }) => {
    return path.length > 0 ? `${path.map(String).join('.')}: ${message}` : `${whole} ${message}`
  })
  const more = issues.length - sentences.length
  return sentences.join('; ') + (more > 0 ? `; and ${more} more` : '')
}
