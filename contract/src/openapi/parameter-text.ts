import * as z from 'zod'

/** Texts of every kind that a parameter can be. */
const SAMPLES = ['a', '0', '1', 'true', '2026-11-22']

/**
 * Checks that a parameter accepts text, because a server gets nothing else from a path, a query and headers.
 *
 * @throws Error if it would reject every request, throw on some, or misread a boolean
 */
export function requireText(parameter: z.ZodType, place: string): void {
  const parse = (text: string) => parseText(parameter, text, place)
  const issues = SAMPLES.map((text) => parse(text).error?.issues[0])
  const [issue] = issues
  if (issues.every(isAboutType) && issue?.code === 'invalid_type' && issue.expected === 'array') {
    throw new Error(`${place}: rejects a single item; use z.preprocess((value) => [value].flat(), z.array(...))`)
  }
  if (issues.every(isAboutType) || otherValues(issues).some((value) => !parse(String(value)).success)) {
    const item = issue?.path.length ? '[]' : ''
    throw new Error(
      `${place}${item}: rejects text, which every parameter is; use z.coerce, z.stringbool() or z.codec()`,
    )
  }
  if (parse('false').data === true) throw new Error(`${place}: reads "false" as true; use z.stringbool()`)
}

/** Whether a text was rejected because it is text, rather than the wrong one. */
function isAboutType(issue: z.core.$ZodIssue | undefined): boolean {
  if (issue?.code === 'invalid_union') return issue.errors.flat().every(isAboutType)
  return issue?.code === 'invalid_type'
}

/** Lists the values that are not text, which a parameter can still have after coercion. */
function otherValues(issues: readonly (z.core.$ZodIssue | undefined)[]): z.core.util.Primitive[] {
  const values = issues.flatMap((issue) => (issue?.code === 'invalid_value' ? issue.values : []))
  return values.filter((value) => typeof value !== 'string')
}

/** Parses a text as a server does, which responds with a 500 if the schema throws. */
function parseText(parameter: z.ZodType, text: string, place: string): z.ZodSafeParseResult<unknown> {
  try {
    return parameter.safeParse(text)
  } catch (error) {
    if (error instanceof z.core.$ZodAsyncError) {
      throw new Error(`${place}: is asynchronous, but ts-rest validates synchronously; check it in the handler`)
    }
    const message = error instanceof Error ? error.message : String(error)
    throw new Error(
      `${place}: throws on the text "${text}" (${message}), a 500; check the text before the function, for example ` +
        'with z.url() or .regex(), or use z.coerce',
      { cause: error },
    )
  }
}
