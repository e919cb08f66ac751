import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { type Program, responds, startProgram } from '../start-program.ts'
import { temporaryFolder } from '../temporary-folder.ts'

/** Starts nginx with a configuration for its http block, and waits until it passes requests on. */
export function startNginx(configuration: string, port: number): Promise<Program> {
  const folder = temporaryFolder()
  const [file, errors] = [path.join(folder, 'nginx.conf'), path.join(folder, 'error.log')]
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  )
  const http = configuration.replace('listen 80;', `listen 127.0.0.1:${port};`)
  writeFileSync(
    file,
    `daemon off; error_log ${errors}; pid ${folder}/nginx.pid; events {}
     http { access_log off; ${temporary.join(' ')}\n${http}\n}`,
  )
  const isUp = responds(`http://127.0.0.1:${port}/nothing`, (status) => status === 404)
  return startProgram(['nginx', '-c', file, '-e', errors], isUp)
}
