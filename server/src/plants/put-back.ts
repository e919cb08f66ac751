/** The iterator as it was before `piece` was taken from it. Once taken again, the piece is not kept in memory. */
export async function* putBack(piece: string, rest: AsyncIterator<string>): AsyncGenerator<string> {
  const pieces = [piece]
  try {
    for (let next = pieces.pop(); next !== undefined; next = pieces.pop()) yield next
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value
  } finally {
    await rest.return?.()
  }
}
