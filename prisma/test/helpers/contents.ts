import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'

/** Returns every path below `folder` with its mode and content, to check that nothing on disk has changed. */
export function contentsOf(folder: string): Record<string, string> {
  if (!existsSync(folder)) return {}
  if (statSync(folder).isFile()) return { '.': describe(folder) }
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()
  return Object.fromEntries(paths.map((each) => [each, describe(path.join(folder, each))]))
}

function describe(location: string): string {
  const stats = statSync(location)
  return `${stats.mode.toString(8)} ${stats.isFile() ? readFileSync(location, 'base64') : 'folder'}`
}
