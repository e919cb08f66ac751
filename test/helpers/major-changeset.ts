import { readdirSync, readFileSync } from 'node:fs'

const folder = new URL('../../.changeset/', import.meta.url)

/** Whether a changeset says that the next version of a package may break its users. */
export function hasMajorChangeset(name: string): boolean {
  const texts = readdirSync(folder).map((file) => readFileSync(new URL(file, folder), 'utf8'))
  return texts.some((text) => new RegExp(`^["']@plant-store/${name}["']: major$`, 'm').test(text))
}
