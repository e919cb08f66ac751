/**
 * Attacks a server from a process of its own, until its standard input ends. Arguments: the address, a token, how many
 * connections of each kind, and a part of the names of the kinds.
 */
import { hostileBehaviours, startHostileClients } from './hostile-clients.ts'

const [url = '', token = '', connections = '1', ...names] = process.argv.slice(2)
for (const [name, behave] of Object.entries(hostileBehaviours)) {
  if (names.length > 0 && !names.includes(name)) continue
  startHostileClients({ url, token }, Number(connections), behave)
}
process.stdin.resume().on('end', () => process.exit())
