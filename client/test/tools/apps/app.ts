/** What the test calls of each generated client. */
export interface App {
  /** Creates a plant with an id of the type that the client has for it; returns the body of the response. */
  create(plant: { id: number; name: string; tag?: string }): Promise<unknown>
  list(): Promise<unknown>
  /** Creates a plant as well as the tool can with an id beyond the range of `number`. */
  createExactly(id: bigint, name: string): Promise<unknown>
}

/** Where the service is. */
export interface Service {
  baseUrl: string
  token: string
}

/** Writes a plant as JSON with an exact id. */
export function writeExactly(body: unknown): string {
  const { id, ...plant } = body as { id: number | bigint }
  return `{"id":${id},${JSON.stringify(plant).slice(1)}`
}
