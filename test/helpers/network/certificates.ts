import { execFileSync, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { requireInCi } from '../long-tests.ts'

/** Whether certificates can be made here: Node.js itself can only read them. */
export const hasOpenssl = spawnSync('openssl', ['version']).status === 0
requireInCi('OpenSSL', hasOpenssl)
if (!hasOpenssl) console.log('TLS to PostgreSQL is not tested: openssl is not installed.')

/** A certificate authority in a folder, with the certificate `NAME.pem`, that only those trust who get it. */
export interface Authority {
  /**
   * Issues the certificate `FILE.pem` with the key `FILE-key.pem`, for the name of a host or, for a client, of a user, and for
   * the address 127.0.0.1.
   */
  issue(file: string, name: string, hasAddress?: boolean): void
}

/** Creates a certificate authority. */
export function createAuthority(folder: string, authority: string): Authority {
  const key = '-nodes -newkey ec -pkeyopt ec_paramgen_curve:P-256 -keyout'
  const run = (command: string) => execFileSync('openssl', command.split(' '), { cwd: folder, stdio: 'pipe' })
  run(`req -x509 ${key} ${authority}-key.pem -subj /CN=${authority} -days 2 -out ${authority}.pem`)
  return {
    issue(file, name, hasAddress = false) {
      const names = `subjectAltName=DNS:${name}${hasAddress ? ',IP:127.0.0.1' : ''}`
      writeFileSync(path.join(folder, 'names'), names)
      run(`req ${key} ${file}-key.pem -subj /CN=${name} -out request`)
      const signer = `-CA ${authority}.pem -CAkey ${authority}-key.pem -CAcreateserial`
      run(`x509 -req -in request ${signer} -days 2 -extfile names -out ${file}.pem`)
    },
  }
}
