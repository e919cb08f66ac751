/**
 * The target of `rel="next"` in a `Link` header (RFC 8288), which may be relative to the URL of the request.
 *
 * @returns undefined where there is none
 * @throws TypeError where the target is no URL
 */
export function nextLink(header: string | null, requestUrl: string): URL | undefined {
  for (const [, target = '', parameters = ''] of (header ?? '').matchAll(/<([^>]*)>([^<]*)/g)) {
    const [, quoted, token] = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]+))/i.exec(parameters) ?? []
    if ((quoted ?? token ?? '').toLowerCase().split(/\s+/).includes('next')) return new URL(target, requestUrl)
  }
  return undefined
}
