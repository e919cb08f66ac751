/** Everything after `://` on a line: where a password begins and ends is uncertain in an invalid URL. */
const AFTER_SCHEME = /(?<=:\/\/).*/g

/** Removes what may contain a password from a text, such as an argument or an error about one. */
export function hideUrls(text: string): string {
  return text.replace(AFTER_SCHEME, '***')
}

/** Replaces the arguments that `ps` shows of this process if a URL is among them. */
export function hideUrlsFromProcessList(): void {
  const args = process.argv.slice(2)
  const hidden = args.map(hideUrls)
  if (hidden.join() !== args.join()) process.title = ['plant-store', ...hidden].join(' ')
}
