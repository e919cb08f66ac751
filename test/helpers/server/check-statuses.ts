import { readdir, readFile, rm } from 'node:fs/promises'
import { createOpenApiDocument, type OpenApiDocument } from '@plant-store/contract/openapi'
import { STATUSES_FOLDER } from './record-statuses.ts'

/** Runs around the whole suite: every status that the service answered an operation with must be declared for it. */
export default async function setup(): Promise<() => Promise<void>> {
  await rm(STATUSES_FOLDER, { recursive: true, force: true })
  return async () => {
    const undeclared = findUndeclared(await readSeen(), createOpenApiDocument())
    if (undeclared.length === 0) return
    console.error(`Answered, but not declared in contract/src/contract.ts:\n  ${undeclared.join('\n  ')}`)
    // Vitest prints what is thrown here and ends with 0 all the same.
    process.exitCode = 1
  }
}

/**
 * Picks those of the lines `METHOD path status` that are of an operation of the document which does not declare them.
 */
export function findUndeclared(seen: readonly string[], { paths = {} }: OpenApiDocument): string[] {
  return seen.filter((line) => {
    const [method = '', path = '', status = ''] = line.split(' ')
    const item = Object.entries(paths).find(([template]) => matches(template, path))?.[1]
    const operation = item?.[method.toLowerCase() as 'get']
    return operation?.responses !== undefined && !(status in operation.responses)
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
