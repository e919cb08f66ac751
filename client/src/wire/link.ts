// Apart from the rest, whose declarations apps without the type `URL` compile.

/**
 * Returns the target of `rel="next"` in a `Link` header (RFC 8288), which may be relative; undefined if there is none.
 */
export function nextLink(header: string | null): string | undefined {
  return /<([^>]*)>[^<]*;\s*rel\s*=\s*(?:next(?![^\s;,])|"(?:[^"]*\s)?next[\s"])/i.exec(header ?? '')?.[1]
}

/** Parses a URL; undefined if it is invalid. Not every runtime has `URL.canParse`. */
export function parseUrl(url: string, base?: string): URL | undefined {
  try {
    return new URL(url, base)
  } catch {
    return undefined
  }
}
