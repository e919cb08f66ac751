/**
 * Attacks a server from another process, until its standard input ends. Arguments: the URL, a token, the number of
 * connections of each kind, and the names of the kinds (default: all).
 */
import { hostileBehaviours, startHostileClients } from './hostile-clients.ts'

const [url = '', token = '', connections = '1', ...names] = process.argv.slice(2)
for (const [name, behave] of Object.entries(hostileBehaviours)) {
  if (names.length > 0 && !names.includes(name)) continue
  startHostileClients({ url, token }, Number(connections), behave)
}
process.stdin.resume().on('end', () => process.exit())
