import { expect } from 'vitest'

/** Reads the value of a metric, with its labels if it has any; NaN if it is absent. */
export async function readMetric(server: { adminUrl: string | undefined }, name: string): Promise<number> {
  return (await readMetrics(server)).get(name) ?? Number.NaN
}

/** Reads the values of all series, by name and labels as they are written. */
export async function readMetrics({ adminUrl }: { adminUrl: string | undefined }): Promise<Map<string, number>> {
  const text = await (await fetch(`${adminUrl}/metrics`)).text()
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(lines.map((line) => [line.replace(/ \S+$/, ''), Number(/\S+$/.exec(line)?.[0])]))
}

/** Waits until the value of a metric is what the caller expects. */
export function expectMetric(server: { adminUrl: string | undefined }, name: string) {
  return expect.poll(() => readMetric(server, name), { message: name })
}
