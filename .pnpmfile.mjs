/** What pnpm asks for: https://pnpm.io/pnpmfile */
export const hooks = {
  /**
   * Removes from the package.json of a package what only the workspace needs: `private` keeps npm from publishing a folder,
   * also without its scripts.
   */
  beforePacking(manifest) {
    const { private: _, scripts, devDependencies, ...packed } = manifest
    return { ...packed, ...repositoryOf(packed.name) }
  },
}

/** Returns where the sources are, which only CI knows. npm accepts a proof of origin only if they match. */
function repositoryOf(name) {
  const { GITHUB_SERVER_URL: host, GITHUB_REPOSITORY: repository } = process.env
  if (!host || !repository) return {}
  const url = `${host}/${repository}`
  return {
    repository: { type: 'git', url: `git+${url}.git`, directory: name.replace('@plant-store/', '') },
    homepage: `${url}#readme`,
    bugs: `${url}/issues`,
  }
}
