import type { RequestValidationError } from '@ts-rest/express'
import type * as z from 'zod'
import { HttpError } from '../../http-error.ts'

type ValidationError = NonNullable<RequestValidationError['body']>
type Issue = z.core.$ZodIssue

/** How many invalid fields a message names. */
const MAX_ISSUES = 3

/** Converts ts-rest's validation error into a failure that names the fields, but never their values. */
export function toValidationError(
  error: RequestValidationError,
  { tsRestRoute: route }: { tsRestRoute: object },
): HttpError {
  const { pathParams, headers, query, body } = error
  const schema = 'body' in route ? (route.body as z.core.$ZodType) : undefined
  if (pathParams) return new HttpError('notFound', describeIssues(pathParams, 'The path'))
  if (headers) return new HttpError('badRequest', describeIssues(headers, 'The headers'))
  if (query) return new HttpError('invalidQuery', describeIssues(query, 'The query'))
  if (body) return new HttpError('invalidBody', describeIssues(body, 'The body', schema))
  return new HttpError('badRequest')
}

function describeIssues({ issues }: ValidationError, whole: string, schema?: z.core.$ZodType): string {
  const all = (issues as readonly Issue[]).flatMap(explainIssue)
  const sentences = all.slice(0, MAX_ISSUES).map(({ path, message }) => {
    const isNullable = message.startsWith('must be ') && mayBeNull(schema, path)
    return `${path.length > 0 ? `${path.join('.')}:` : whole} ${message}${isNullable ? ' or null' : ''}`
  })
  const more = all.length - sentences.length
  return sentences.join('; ') + (more > 0 ? `; and ${more} more` : '')
}

/** Explains of a union what is wrong in the alternative that has the type of the value, if there is one. */
function explainIssue(issue: Issue): Pick<Issue, 'path' | 'message'>[] {
  const { path } = issue
  if (issue.code !== 'invalid_union' || issue.message !== 'Invalid input') return [{ path, message: toWords(issue) }]
  const alternatives = issue.errors.map((issues) => issues.flatMap(explainIssue))
  const meant = alternatives.find((parts) => parts.every((part) => part.path.length > 0))
  if (meant) return meant.map((part) => ({ ...part, path: [...path, ...part.path] }))
  const reasons = alternatives.flatMap((parts) => parts.filter((part) => part.path.length === 0))
  const types = new Set(reasons.map(({ message }) => message.replace('must be ', '')))
  const other = reasons.find(({ message }) => !message.startsWith('must be '))
  return [{ path, message: other?.message ?? `must be ${[...types].join(' or ')}` }]
}

/** Returns the message of an issue. A schema without a message of its own has zod's, which is put in our words. */
function toWords(issue: Issue): string {
  if (!issue.message.startsWith('Invalid ')) return issue.message
  if (issue.message.endsWith('received undefined')) return 'is required'
  const values = 'values' in issue ? issue.values : 'options' in issue ? (issue.options as unknown[]) : []
  if (values.length > 0) return `must be ${values.map((value) => JSON.stringify(value)).join(' or ')}`
  if (issue.code !== 'invalid_type') return issue.message
  const type = issue.expected === 'int' ? 'integer' : issue.expected
  return `must be ${type === 'null' ? '' : /^[aeiou]/.test(type) ? 'an ' : 'a '}${type}`
}

/** Whether the value at a path of a body may also be null. */
function mayBeNull(schema: z.core.$ZodType | undefined, path: readonly PropertyKey[]): boolean {
  if (!schema) return false
  const { def } = schema._zod as z.core.$ZodTypes['_zod']
  const [name, ...rest] = path
  if ('innerType' in def) return (def.type === 'nullable' && name === undefined) || mayBeNull(def.innerType, path)
  if (def.type === 'pipe') return mayBeNull(def.in, path)
  if (name === undefined) return false
  if (def.type === 'object') return mayBeNull(def.shape[String(name)], rest)
  if (def.type === 'array') return mayBeNull(def.element, rest)
  return def.type === 'record' && mayBeNull(def.valueType, rest)
}
