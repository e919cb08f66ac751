import { readdir, readFile, rm } from 'node:fs/promises'
import { createOpenApiDocument } from '@plant-store/contract/openapi'
import { STATUSES_FOLDER } from './record-statuses.ts'

/** Runs around the whole suite: every status of an operation must be declared in the contract. */
export default async function setup(): Promise<() => Promise<void>> {
  await rm(STATUSES_FOLDER, { recursive: true, force: true })
  return async () => {
    const undeclared = findUndeclared(await readSeen(), createOpenApiDocument())
    if (undeclared.length === 0) return
    console.error(`Statuses that contract/src/contract.ts does not declare:\n  ${undeclared.join('\n  ')}`)
    // Vitest would print an error thrown here, but exit with 0.
    process.exitCode = 1
  }
}

/** The part of an OpenAPI document that is read. */
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly responses: object }>>>>
}

/**
 * Returns the lines `METHOD path status` whose status is not declared for their operation in the document.
 */
export function findUndeclared(seen: readonly string[], { paths }: Document): string[] {
  return seen.filter((line) => {
    const [method = '', path = '', status = ''] = line.split(' ')
    const operations = Object.entries(paths).map(
      ([template, item]) => matches(template, path) && item[method.toLowerCase() as 'get'],
    )
    // As on the server, the first operation in the contract that fits.
    const { responses } = operations.find(Boolean) || {}
    return responses !== undefined && !(status in responses)
  })
}

function matches(template: string, path: string): boolean {
  const [wanted, given] = [template.split('/'), path.split('/')]
  return wanted.length === given.length && wanted.every((part, index) => /^\{/.test(part) || part === given[index])
}

async function readSeen(): Promise<string[]> {
  const files = await readdir(STATUSES_FOLDER).catch(() => [])
  const texts = await Promise.all(files.map((file) => readFile(`${STATUSES_FOLDER}/${file}`, 'utf8')))
  return [...new Set(texts.join('').trim().split('\n'))].sort()
}
