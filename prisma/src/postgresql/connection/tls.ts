import { readFileSync } from 'node:fs'
import { type ConnectionOptions, createSecureContext, type SecureContextOptions } from 'node:tls'
import { DatabaseError, errorReason } from '../../database-error.ts'
import type { ServerAddress } from './server-address.ts'

/**
 * Returns how to encrypt connections; `false`: not at all.
 *
 * @throws {DatabaseError} if a certificate or key cannot be read
 */
export function readTlsOptions(address: ServerAddress): ConnectionOptions | false {
  const { sslMode, host, sslRootCertificate, sslCertificate, sslKey } = address
  if (sslMode === 'disable') return false
  const files = {
    ...(sslRootCertificate !== undefined && { ca: readPem(sslRootCertificate, 'sslrootcert', 'ca') }),
    ...(sslCertificate !== undefined && { cert: readPem(sslCertificate, 'sslcert', 'cert') }),
    ...(sslKey !== undefined && { key: readPem(sslKey, 'sslkey', 'key') }),
  }
  checkTogether(files)
  return {
    // The name that the server's certificate must have.
    host,
    // As in libpq, `require` is `verify-ca` if the URL names what to verify with.
    rejectUnauthorized: sslMode !== 'require' || sslRootCertificate !== undefined,
    ...(sslMode !== 'verify-full' && { checkServerIdentity: () => undefined }),
    ...files,
  }
}

function readPem(file: string, parameter: string, option: 'ca' | 'cert' | 'key'): string {
  try {
    const text = readFileSync(file, 'utf8')
    // An authority without a certificate would silently trust no server.
    if (option === 'ca' && !text.includes('-----BEGIN')) throw new Error('it has no certificate')
    createSecureContext({ [option]: text })
    return text
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? errorReason(error)
    throw new DatabaseError(`DATABASE_URL names the file ${file} as ${parameter}, which cannot be read (${reason})`)
  }
}

function checkTogether(files: SecureContextOptions): void {
  try {
    createSecureContext(files)
  } catch (error) {
    throw new DatabaseError(`DATABASE_URL names an sslcert and an sslkey that do not match (${errorReason(error)})`)
  }
}
