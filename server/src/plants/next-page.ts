/** The parameters of a query as the contract decodes them, of which one that may be repeated is a list. */
type Query = Readonly<Record<string, number | string | boolean | readonly string[] | undefined>>

/**
 * Returns the `Link` header to the next page, which has every parameter of this one, so that a filter is not lost.
 *
 * @param target the URL without a query; empty: relative to the requested URL (RFC 8288 section 3.1)
 */
export function nextPage(target: string, query: Query): string {
  const pairs = Object.entries(query).flatMap(([name, values]) =>
    [values ?? []].flat().map((value): [string, string] => [name, String(value)]),
  )
  return `<${target}?${new URLSearchParams(pairs)}>; rel="next"`
}
