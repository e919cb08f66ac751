/** Reads the value of a metric, with its labels if it has any; NaN if it is absent. */
export async function readMetric({ adminUrl }: { adminUrl: string | undefined }, name: string): Promise<number> {
  const text = await (await fetch(`${adminUrl}/metrics`)).text()
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${name} `))
  return Number(line?.slice(name.length + 1) ?? Number.NaN)
}
