import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { temporaryFolder } from '../temporary-folder.ts'
import { until } from '../until.ts'

/** Starts nginx with a configuration for its http block, and waits until it passes requests on. */
export async function startNginx(configuration: string, port: number): Promise<{ stop(): Promise<void> }> {
  const folder = temporaryFolder()
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  )
  const file = path.join(folder, 'nginx.conf')
  writeFileSync(
    file,
    `daemon off; pid ${folder}/nginx.pid; error_log ${folder}/error.log; events {} http { access_log off; ${temporary.join(' ')}\n${configuration.replace('listen 80;', `listen 127.0.0.1:${port};`)}\n}`,
  )
  const nginx = spawn('nginx', ['-c', file, '-e', `${folder}/error.log`], { stdio: 'inherit' })
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
