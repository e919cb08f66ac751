import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { run } from '../packed-package.ts'
import type { Engine } from './engine.ts'

/**
 * Builds the image that the Dockerfile starts from, without a registry of images: Debian by mmdebstrap, and Node.js and
 * npm from the npm registry. As in the official one, there is a user `node` and no compiler.
 *
 * @param folder an empty folder to work in
 */
export async function buildBaseImage(engine: Engine, folder: string, nodeVersion: string): Promise<void> {
  await Promise.all([installNode(folder, nodeVersion), installDebian(folder)])
  writeFileSync(path.join(folder, '.dockerignore'), '*\n!debian.tar\n!local\n')
  const file = path.join(folder, 'Dockerfile')
  const instructions = `
    FROM scratch
    ADD debian.tar /
    COPY local /usr/local
    ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`
  writeFileSync(file, instructions)
  await engine.build(['--tag', `docker.io/library/node:${nodeVersion}-bookworm-slim`, '--file', file, folder])
}

/** Puts Node.js and npm in the folder `local`. */
async function installNode(folder: string, version: string): Promise<void> {
  const packages = path.join(folder, 'packages')
  const local = path.join(folder, 'local')
  mkdirSync(packages)
  writeFileSync(path.join(packages, 'package.json'), '{}')
  const options = ['--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error']
  await run('npm', ['install', ...options, `node-linux-${process.arch}@${version}`, 'npm@11'], packages)
  const script = `
    mkdir -p "$2/bin" "$2/lib/node_modules"
    cp -r "$1/node_modules/$3/bin/node" "$2/bin"
    cp -r "$1/node_modules/npm" "$2/lib/node_modules"
    ln -s ../lib/node_modules/npm/bin/npm-cli.js "$2/bin/npm"
    ln -s ../lib/node_modules/npm/bin/npx-cli.js "$2/bin/npx"`
  await run('sh', ['-euc', script, 'sh', packages, local, `node-linux-${process.arch}`], folder)
}

async function installDebian(folder: string): Promise<void> {
  await run(
    'mmdebstrap',
    [
      '--quiet',
      '--variant=minbase',
      '--include=libstdc++6',
      '--dpkgopt=path-exclude=/usr/share/doc/*',
      '--dpkgopt=path-exclude=/usr/share/man/*',
      '--customize-hook=chroot "$1" useradd --uid 1000 --create-home node',
      'bookworm',
      'debian.tar',
      'http://deb.debian.org/debian',
    ],
    folder,
  )
}
