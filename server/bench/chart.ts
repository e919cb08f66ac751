import type { Row } from './rounds.ts'

const WIDTH = 720
const LABEL_WIDTH = 230
const BAR_HEIGHT = 18
const ROW_HEIGHT = 24
const TITLE_HEIGHT = 40
const VALUE_WIDTH = 110

/** What each contender is to a reader. */
const LABELS: Readonly<Record<string, string>> = {
  'plant-store': 'Plant Store',
  'empty-app': 'empty Express and ts-rest app',
  'plain-sqlite': 'hand-written node:sqlite',
  naive: 'naive Prisma app',
}

/** Draws the rates of some scenarios as an SVG chart, in the colours of light and dark pages. */
export function drawChart(groups: readonly { title: string; rows: readonly Row[] }[], machine: string): string {
  let y = 0
  const parts: string[] = []
  for (const { title, rows } of groups) {
    const shown = rows.filter(({ name, rate }) => name in LABELS && rate !== undefined)
    const largest = Math.max(...shown.map(({ rate = 0 }) => rate))
    parts.push(`<text class="title" x="0" y="${y + 24}">${title}</text>`)
    y += TITLE_HEIGHT
    for (const { name, rate = 0 } of shown) {
      const length = ((WIDTH - LABEL_WIDTH - VALUE_WIDTH) * rate) / largest
      const middle = y + BAR_HEIGHT - 4
      parts.push(
        `<text x="${LABEL_WIDTH - 8}" y="${middle}" text-anchor="end">${LABELS[name]}</text>`,
        `<rect class="${name}" x="${LABEL_WIDTH}" y="${y}" width="${length.toFixed(1)}" height="${BAR_HEIGHT}" rx="2"/>`,
        `<text x="${(LABEL_WIDTH + length + 6).toFixed(1)}" y="${middle}">${Math.round(rate).toLocaleString('en')}/s</text>`,
      )
      y += ROW_HEIGHT
    }
  }
  parts.push(`<text class="note" x="0" y="${y + 20}">${machine}</text>`)
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y + 30}" font-family="system-ui, sans-serif" font-size="13">
<title>Requests per second</title>
<style>
  text { fill: #1f2328 } rect { fill: #8c959f } .plant-store { fill: #1a7f37 } .title { font-weight: 600 } .note { font-size: 11px; opacity: 0.7 }
  @media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .plant-store { fill: #3fb950 } }
</style>
${parts.join('\n')}
</svg>
`
}
