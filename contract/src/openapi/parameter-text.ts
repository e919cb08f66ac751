import type * as z from 'zod'

/** Texts of every kind that a parameter can be. */
const SAMPLES = ['a', '0', '1', 'true', '2026-11-22']

/**
 * Checks that a parameter accepts text, because a server gets nothing else from a path, a query and headers.
 *
 * @throws Error if it would reject every request, or misread a boolean
 */
export function requireText(parameter: z.ZodType, place: string): void {
  const issues = SAMPLES.map((text) => parameter.safeParse(text).error?.issues[0])
  const [issue] = issues
  if (issues.every(isAboutType) && issue?.code === 'invalid_type' && issue.expected === 'array') {
    throw new Error(`${place}: rejects a single item; use z.preprocess((value) => [value].flat(), z.array(...))`)
  }
  if (issues.every(isAboutType) || issues.some(hasOtherValue)) {
    const item = issue?.path.length ? '[]' : ''
    throw new Error(
      `${place}${item}: rejects text, which every parameter is; use z.coerce, z.stringbool() or z.codec()`,
    )
  }
  if (parameter.safeParse('false').data === true) throw new Error(`${place}: reads "false" as true; use z.stringbool()`)
}

/** Whether a text was rejected because it is text, rather than the wrong one. */
function isAboutType(issue: z.core.$ZodIssue | undefined): boolean {
  if (issue?.code === 'invalid_union') return issue.errors.flat().every(isAboutType)
  return issue?.code === 'invalid_type'
}

function hasOtherValue(issue: z.core.$ZodIssue | undefined): boolean {
  return issue?.code === 'invalid_value' && issue.values.some((value) => typeof value !== 'string')
}
