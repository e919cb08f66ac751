import { describe, expect, test } from 'vitest'
import { readSettings } from '../../src/index.ts'
import { AUDIENCE, ISSUER } from '../helpers/accounts/token-issuer.ts'

describe('JWT_ISSUER, JWT_AUDIENCE and JWT_JWKS_URL', () => {
  const complete = { JWT_ISSUER: ISSUER, JWT_AUDIENCE: AUDIENCE, JWT_JWKS_URL: 'https://login.example.com/jwks.json' }

  test('are off by default, and set together', () => {
    const off = { jwtIssuer: undefined, jwtAudience: undefined, jwtJwksUrl: undefined }
    expect(readSettings({})).toMatchObject(off)
    expect(readSettings({ JWT_ISSUER: '', JWT_AUDIENCE: '', JWT_JWKS_URL: '' })).toMatchObject(off)
    expect(readSettings(complete)).toMatchObject({
      jwtIssuer: ISSUER,
      jwtAudience: AUDIENCE,
      jwtJwksUrl: complete.JWT_JWKS_URL,
    })
  })

  test.each(Object.keys(complete))('without %s are invalid', (name) => {
    expect(() => readSettings({ ...complete, [name]: '' })).toThrow(`  ${name} must be set too`)
  })

  test('are reported together with all other mistakes', () => {
    expect(() => readSettings({ JWT_ISSUER: ISSUER, PORT: 'x' })).toThrow(
      /^ {2}PORT [\s\S]*^ {2}JWT_AUDIENCE [\s\S]*^ {2}JWT_JWKS_URL /m,
    )
  })

  test.each([
    'http://localhost:8080/keys',
    'http://127.0.0.1/keys',
    'http://127.10.0.100/keys',
    'http://[::1]:80/keys',
    'https://login.example.com',
  ])('accept the key server %s', (url) => {
    expect(readSettings({ ...complete, JWT_JWKS_URL: url }).jwtJwksUrl).toBe(url)
  })

  test.each([
    'http://login.example.com/keys',
    'http://127.0.0.1.example.com/keys',
    'http://localhost.example.com/keys',
    'http://localhost@example.com/keys',
    'https://user:password@login.example.com/keys',
    'file:///keys.json',
    'keys',
  ])('reject the key server %s', (url) => {
    expect(() => readSettings({ ...complete, JWT_JWKS_URL: url })).toThrow('  JWT_JWKS_URL must be an https URL')
  })
})
