import type { RequestValidationError } from '@ts-rest/express'
import { Failure } from '../../failure.ts'

type ValidationError = NonNullable<RequestValidationError['body']>

/** How many invalid fields a message names. */
const MAX_ISSUES = 3

/** Converts ts-rest's validation error into a failure that names the fields, but never their values. */
export function toValidationFailure({ pathParams, headers, query, body }: RequestValidationError): Failure {
  if (pathParams) return new Failure('notFound', describe(pathParams, 'The path'))
  if (headers) return new Failure('badRequest', describe(headers, 'The headers'))
  if (query) return new Failure('invalidQuery', describe(query, 'The query'))
  if (body) return new Failure('invalidBody', describe(body, 'The body'))
  return new Failure('badRequest')
}

function describe({ issues }: ValidationError, whole: string): string {
  const sentences = issues.slice(0, MAX_ISSUES).map(({ path = [], message }) => {
    const field = path.map((segment) => String(typeof segment === 'object' ? segment.key : segment)).join('.')
    return `${field ? `${field}:` : whole} ${message}`
  })
  const more = issues.length - sentences.length
  return sentences.join('; ') + (more > 0 ? `; and ${more} more` : '')
}
