/**
 * Runs Changesets: without a parameter it writes a changeset, and `version` turns the changesets into versions and changelogs.
 *
 * Usage: npm run changeset [-- version]
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { root, run } from './run.mjs'

const parameters = process.argv.slice(2)
run(`${root}node_modules/.bin/changeset`, parameters, 'inherit')
if (parameters[0] === 'version') {
  for (const name of ['client', 'contract']) writeVersion(name)
  // With this document the next changes of the contract are compared.
  const print = `import { createOpenApiDocument } from '@plant-store/contract/openapi'
    console.log(JSON.stringify(createOpenApiDocument(), null, 2))`
  const document = run('node', ['--conditions=@plant-store/source', '--input-type=module', '--eval', print])
  writeFileSync(`${root}contract/released.json`, `${document}\n`)
}

/** Writes the version of a package, which its package.json has, into its code. */
function writeVersion(name) {
  const { version } = JSON.parse(readFileSync(`${root}${name}/package.json`, 'utf8'))
  const file = root + run('git', ['grep', '--files-with-matches', "^const VERSION = '", '--', `${name}/src`])
  writeFileSync(file, readFileSync(file, 'utf8').replace(/^(const VERSION = )'.*'$/m, `$1'${version}'`))
}
