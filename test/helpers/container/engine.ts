import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { run } from '../packed-package.ts'
import { isInstalled } from '../production/guide.ts'

/** Debian's container programs, with images and containers in a folder of their own. */
export interface Engine {
  /** Runs podman and returns what it prints. */
  podman(parameters: string[]): Promise<string>
  /** Builds an image; the parameters are those of `docker build`. */
  build(parameters: string[]): Promise<string>
  /** A folder for PATH, with a command `docker`. Its `docker run` sets these environment variables. */
  installDocker(environment: Record<string, string>): string
  /** Stops and removes all containers and images. */
  remove(): Promise<void>
}

/** The programs that are needed and missing. */
export function missingPrograms(): string[] {
  return ['buildah', 'podman', 'runc', 'mmdebstrap'].filter((program) => !isInstalled(program))
}

// Neither an own network nor systemd: they work inside of a container too, as in CI.
const RUN_OPTIONS = ['--network=host', '--pull=never', '--ulimit=nofile=20000:20000', '--ulimit=nproc=4096:4096']

export async function createEngine(folder: string): Promise<Engine> {
  const storage = ['--root', path.join(folder, 'images'), '--runroot', path.join(folder, 'run')]
  const podmanOptions = [...storage, '--runtime=runc', '--cgroup-manager=cgroupfs']
  const buildOptions = ['--isolation=chroot', '--pull=never', '--network=host', '--format=docker']
  buildOptions.push(...(await registryOptions(folder)))
  return {
    podman: (parameters) => run('podman', withRunOptions(parameters), folder),
    build: (parameters) => run('buildah', [...storage, 'build', ...buildOptions, ...parameters], folder),
    installDocker(environment) {
      const bin = path.join(folder, 'bin')
      mkdirSync(bin, { recursive: true })
      const variables = Object.entries(environment).map(([name, value]) => `--env=${name}=${value}`)
      const script = `#!/bin/sh
command=$1
shift
case $command in
  build) exec buildah ${quote([...storage, 'build', ...buildOptions])} "$@" ;;
  run) exec podman ${quote([...podmanOptions, 'run', ...RUN_OPTIONS, ...variables])} "$@" ;;
  *) exec podman ${quote(podmanOptions)} "$command" "$@" ;;
esac
`
      writeFileSync(path.join(bin, 'docker'), script)
      chmodSync(path.join(bin, 'docker'), 0o755)
      return bin
    },
    async remove() {
      await run('podman', [...podmanOptions, 'rm', '--all', '--force', '--time=0'], folder)
      await run('podman', [...podmanOptions, 'rmi', '--all', '--force'], folder)
      await run('podman', [...podmanOptions, 'volume', 'prune', '--force'], folder)
      // Podman mounts the folder of its layers on itself.
      await run(
        'sh',
        [
          '-c',
          'for mount in $(findmnt --noheadings --output TARGET --raw | grep "^$1/"); do umount "$mount"; done',
          'sh',
          folder,
        ],
        folder,
      )
    },
  }

  function withRunOptions([command = '', ...parameters]: string[]): string[] {
    return [...podmanOptions, command, ...(command === 'run' ? RUN_OPTIONS : []), ...parameters]
  }
}

/** Lets npm in the build reach the registry of this machine, with its certificates. */
async function registryOptions(folder: string): Promise<string[]> {
  const setting = async (name: string) => (await run('npm', ['config', 'get', name], folder)).trim()
  const npmrc = [`registry=${await setting('registry')}`]
  const options: string[] = []
  const certificates = process.env['NODE_EXTRA_CA_CERTS'] ?? (await setting('cafile'))
  if (certificates !== 'null') {
    npmrc.push('cafile=/run/certificates.pem')
    options.push(`--volume=${certificates}:/run/certificates.pem:ro`)
  }
  const file = path.join(folder, 'npmrc')
  writeFileSync(file, `${npmrc.join('\n')}\n`)
  return [...options, `--secret=id=npmrc,src=${file}`]
}

function quote(words: string[]): string {
  return words.map((word) => `'${word}'`).join(' ')
}
