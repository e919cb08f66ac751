import { startTestServer } from './start-test-server.ts'

/** Returns the text of /metrics of a fresh server. */
export async function scrapeMetrics(databaseUrl: string): Promise<string> {
  await using server = await startTestServer({ adminPort: 0, databaseUrl })
  return (await fetch(`${server.adminUrl}/metrics`)).text()
}
