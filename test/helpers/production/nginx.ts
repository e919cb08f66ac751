import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { temporaryFolder } from '../temporary-folder.ts'
import { until } from '../until.ts'

/** A running nginx. */
interface Nginx {
  stop(): Promise<void>
}

/** Starts nginx with a configuration for its http block, and waits until it passes requests on. */
export function startNginx(configuration: string, port: number): Promise<Nginx> {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path /tmp/${name};`,
  )
  const http = configuration.replace('listen 80;', `listen 127.0.0.1:${port};`)
  return startWholeNginx(
    `pid /tmp/nginx.pid; events {} http { access_log off; ${temporary.join(' ')}\n${http}\n}`,
    port,
  )
}

/** Like {@link startNginx}, with a whole configuration, whose files in `/tmp` are put in a folder of its own. */
export async function startWholeNginx(configuration: string, port: number): Promise<Nginx> {
  const folder = temporaryFolder()
  const file = path.join(folder, 'nginx.conf')
  const errors = path.join(folder, 'error.log')
  writeFileSync(file, `daemon off; error_log ${errors};\n${configuration.replaceAll('/tmp/', `${folder}/`)}`)
  const nginx = spawn('nginx', ['-c', file, '-e', errors], { stdio: 'inherit' })
  await until(async () => {
    try {
      return (await fetch(`http://127.0.0.1:${port}/nothing`)).status === 404
    } catch {
      return false
    }
  })
  return {
    async stop() {
      nginx.kill()
      await once(nginx, 'close')
    },
  }
}
