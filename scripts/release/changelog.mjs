const BREAKING = 'major'

/**
 * Adds a release to the text of CHANGELOG.md: what is under "Unreleased" and what the changesets say, breaking changes
 * first. Returns the text unchanged if there is neither.
 *
 * @param changesets as `changeset status` lists them: `{ summary, releases: [{ type }] }`
 * @param date such as 2026-11-22
 */
export function addRelease(text, { version, date, changesets }) {
  const { before, unreleased, after } = splitChangelog(text)
  const lines = changesets.map(describeChangeset).sort((one, other) => other.isBreaking - one.isBreaking)
  const parts = [lines.map((line) => line.text).join('\n'), unreleased].filter(Boolean)
  if (parts.length === 0) return text
  return `${before}## ${version} (${date})\n\n${parts.join('\n\n')}\n${after && `\n${after}`}`
}

function describeChangeset({ summary, releases }) {
  const isBreaking = releases.some(({ type }) => type === BREAKING)
  const text = summary.trim().replaceAll('\n', '\n  ')
  return { isBreaking, text: `- ${isBreaking ? '**Breaking:** ' : ''}${text}` }
}

/** Splits the text before the first release, what is under "Unreleased", and the releases. */
function splitChangelog(text) {
  const start = text.search(/^## /m)
  if (start === -1) return { before: text, unreleased: '', after: '' }
  const before = text.slice(0, start)
  const [, unreleased, after] = /^## Unreleased\n([\s\S]*?)(^## [\s\S]*)?$(?![\s\S])/m.exec(text) ?? []
  if (unreleased === undefined) return { before, unreleased: '', after: text.slice(start) }
  return { before, unreleased: unreleased.trim(), after: after ?? '' }
}
