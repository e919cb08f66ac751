import type { Database } from '../../src/database.ts'

const plant = { account: 'alice', name: 'Monstera', tag: null }
const token = { account: 'alice', scopes: ['read'], label: null, expiresAt: null }
let last = 0

/** What requests and commands do with a database. */
export const uses = {
  insert: ({ plants }: Database) => plants.create([{ ...plant, id: String(++last) }]),
  list: ({ plants }: Database) => plants.read('alice', { limit: 9 }),
  states: ({ plants }: Database) => plants.states(['alice']),
  find: ({ tokens }: Database) => tokens.find(['x']),
  create: ({ tokens }: Database) => tokens.create({ ...token, id: String(++last), hash: String(last) }),
  revoke: ({ tokens }: Database) => tokens.revoke('1'),
  secret: ({ secret }: Database) => secret('cursor'),
}
