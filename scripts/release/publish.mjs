import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { ReleaseError, run } from './run.mjs'

/** Only a workflow of GitHub with the permission `id-token: write` can prove where a package comes from. */
const hasOrigin = process.env['ACTIONS_ID_TOKEN_REQUEST_URL'] !== undefined

/**
 * Returns the packages that the registry of npm's configuration does not have, so that a release that failed midway can be
 * run again.
 *
 * @throws ReleaseError if the registry has all of them, or another package of the same version
 */
export function findUnpublished(packages) {
  const unpublished = packages.filter((each) => !isPublished(each))
  if (unpublished.length > 0) return unpublished
  const { version } = packages[0].manifest
  throw new ReleaseError(
    `Nothing to release: ${version} is published. Describe what has changed with \`npm run changeset\`.`,
  )
}

/** Publishes a package, with a proof of its origin if there is one. A dry run uploads nothing. */
export function publishPackage({ tarball, manifest }, { isDryRun }) {
  const options = [...(hasOrigin ? ['--provenance'] : []), ...(isDryRun ? ['--dry-run'] : [])]
  // npm may ask on the terminal for a one-time password.
  run('npm', ['publish', tarball, '--access', 'public', ...options], { show: true })
  console.log(`${isDryRun ? 'Would publish' : 'Published'} ${manifest.name}@${manifest.version}`)
}

function isPublished({ tarball, manifest: { name, version } }) {
  const integrity = readIntegrity(`${name}@${version}`)
  if (integrity === undefined) return false
  const sha512 = createHash('sha512').update(readFileSync(tarball)).digest('base64')
  if (integrity === `sha512-${sha512}`) return true
  throw new ReleaseError(
    `The registry has another ${name}@${version}. If the workflow has published it, run the workflow again. Otherwise describe what has changed with \`npm run changeset\`.`,
  )
}

/** Returns the checksum that the registry has of a package; undefined if it does not have the package. */
function readIntegrity(specifier) {
  try {
    return run('npm', ['view', specifier, 'dist.integrity']) || undefined
  } catch (error) {
    if (error.message.includes('E404')) return undefined
    throw error
  }
}
