import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { run } from '../packed-package.ts'
import { isInstalled } from '../production/guide.ts'
import { root } from '../programs.ts'
import { findRuntime } from '../runtimes.ts'

/** What the image of Node.js has. */
const [node, npm] = [findRuntime('node-24/bin/node'), findRuntime('npm-11')]

/** The programs that are needed and missing. */
export function missingPrograms(): string[] {
  const missing = ['buildah', 'podman', 'runc', 'mmdebstrap'].filter((program) => !isInstalled(program))
  return node && npm ? missing : [...missing, 'the runtimes of client/scripts/install-runtimes.mjs']
}

/**
 * Makes a command `docker` in a folder, for PATH: Debian's container programs, with images and containers in that folder,
 * and the image that the Dockerfile starts from, without a registry of images.
 *
 * @param environment what `docker run` sets
 */
export async function installDocker(
  folder: string,
  nodeVersion: string,
  environment: Record<string, string>,
): Promise<void> {
  const variables = Object.entries(environment).map(([name, value]) => `--env=${name}=${value}`)
  // Neither an own network nor systemd: they work inside of a container too, as in CI.
  const base = `docker.io/library/node:${nodeVersion}-bookworm-slim`
  const script = `#!/bin/sh
command=$1
shift
storage='--root=${folder}/images --runroot=${folder}/run'
podman="podman $storage --runtime=runc --cgroup-manager=cgroupfs"
build='--isolation=chroot --pull=never --network=host --format=docker --from=${base} ${await useRegistry(folder)}'
run='--network=host --pull=never --ulimit=nofile=20000:20000 --ulimit=nproc=4096:4096 ${variables.join(' ')}'
case $command in
  build) exec buildah $storage build $build "$@" ;;
  run) exec $podman run $run "$@" ;;
  *) exec $podman "$command" "$@" ;;
esac
`
  writeFileSync(path.join(folder, 'docker'), script, { mode: 0o755 })
  await run('bash', [`${root}test/helpers/container/base-image.sh`, nodeVersion, String(node), String(npm)], folder)
}

/** Ends all containers. Podman mounts the folder of its layers on itself. */
export async function removeDocker(folder: string): Promise<void> {
  const script = './docker rm --all --force --time=0; grep -o " $PWD/[^ ]*" /proc/mounts | sort -r | xargs -r umount'
  await run('sh', ['-c', script], folder)
}

/** Returns options that let npm in the build reach the registry of this machine, with its certificates. */
async function useRegistry(folder: string): Promise<string> {
  const setting = async (name: string) => (await run('npm', ['config', 'get', name], folder)).trim()
  const npmrc = [`registry=${await setting('registry')}`]
  const certificates = process.env['NODE_EXTRA_CA_CERTS'] ?? (await setting('cafile'))
  const hasOwn = certificates !== 'null'
  if (hasOwn) npmrc.push('cafile=/run/certificates.pem')
  const file = path.join(folder, 'npmrc')
  writeFileSync(file, `${npmrc.join('\n')}\n`)
  return `--secret=id=npmrc,src=${file}${hasOwn ? ` --volume=${certificates}:/run/certificates.pem:ro` : ''}`
}
