// Runs before a package is published from its folder, where its package.json is that of the workspace.
console.error('This is not how a package is published. Run `npm run release` at the root: see RELEASING.md.')
process.exitCode = 1
