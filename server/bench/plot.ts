import type { Row } from './rounds.ts'

const WIDTH = 760
const LABEL = 330
const BAR = 16
const GAP = 6
const SCALE = 320

/** A bar for every ratio: what share of the floor each contender reaches. */
export function plot(machine: string, rows: readonly Row[]): string {
  const ratios = rows.filter(({ unit }) => unit === 'of first')
  const height = 70 + ratios.length * (BAR + GAP)
  const bars = ratios.map(({ what, name, value }, index) => {
    const y = 40 + index * (BAR + GAP)
    const color = name === 'plant-store' || name === 'a million' ? '#2e7d32' : '#b0bec5'
    const label = what === '' ? name : `${what}: ${name}`
    return [
      `<text x="${LABEL - 8}" y="${y + 12}" text-anchor="end">${escapeText(label)}</text>`,
      `<rect x="${LABEL}" y="${y}" width="${Math.max(1, Number(value) * SCALE).toFixed(1)}" height="${BAR}" fill="${color}"/>`,
      `<text x="${LABEL + Number(value) * SCALE + 6}" y="${y + 12}">${value}</text>`,
    ].join('\n')
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="12">
<rect width="100%" height="100%" fill="#fff"/>
<text x="12" y="22" font-size="14" font-weight="bold">The lower of rate and CPU time, as a share of the first bar of each group (same run)</text>
${bars.join('\n')}
<text x="12" y="${height - 10}" fill="#607d8b">${escapeText(machine)}</text>
</svg>
`
}

function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
