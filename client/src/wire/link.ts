/**
 * Returns the target of `rel="next"` in a `Link` header (RFC 8288), which may be relative; undefined if there is none.
 */
export function nextLink(header: string | null): string | undefined {
  for (const [, target, parameters = ''] of (header ?? '').matchAll(/<([^>]*)>([^<]*)/g)) {
    const [, quoted, token] = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]+))/i.exec(parameters) ?? []
    if ((quoted ?? token ?? '').toLowerCase().split(/\s+/).includes('next')) return target
  }
  return undefined
}
