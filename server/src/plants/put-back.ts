/** Returns an iterator that yields `piece` before the rest. Once it has been yielded, it is not held in memory. */
export async function* putBack(piece: string, rest: AsyncIterator<string>): AsyncGenerator<string> {
  const pieces = [piece]
  try {
    for (let next = pieces.pop(); next !== undefined; next = pieces.pop()) yield next
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value
  } finally {
    await rest.return?.()
  }
}
