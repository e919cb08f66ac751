import path from 'node:path'
import { ReleaseError, root, run } from './run.mjs'

/**
 * Checks a packed package: its package.json, that its exports exist and load (publint), and that TypeScript finds its
 * types (Are the Types Wrong?).
 *
 * @throws ReleaseError that says what to fix
 */
export function verifyPackage({ tarball, manifest }) {
  checkManifest(manifest)
  runTool('publint', ['run', tarball, '--strict'])
  // The SDK works with require too; the others are for Node.js versions that import.
  const profile = manifest.exports['.'].require ? [] : ['--profile', 'esm-only']
  runTool('attw', [tarball, '--no-color', ...profile])
}

function checkManifest(manifest) {
  const { name, license, keywords, engines, publishConfig } = manifest
  const missing = Object.entries({ license, keywords, engines, 'publishConfig.access': publishConfig?.access })
    .filter(([, value]) => value === undefined)
    .map(([field]) => field)
  const leftOver = ['private', 'scripts', 'devDependencies'].filter((field) => field in manifest)
  if (JSON.stringify(manifest).includes('workspace:')) leftOver.push('ranges with workspace:')
  if (missing.length > 0) throw new ReleaseError(`${name}: add to its package.json: ${missing.join(', ')}`)
  if (leftOver.length > 0) throw new ReleaseError(`${name}: its packed package.json has ${leftOver.join(', ')}`)
}

function runTool(name, parameters) {
  run(path.join(root, 'node_modules/.bin', name), parameters)
}
