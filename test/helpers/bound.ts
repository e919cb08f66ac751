import { existsSync } from 'node:fs'

const SETPRIV = '/usr/bin/setpriv'

/**
 * Returns a command that Linux ends with this process, also where this one crashes or is killed: an interrupted run leaves
 * nothing running.
 *
 * @param signal as `setpriv` names it
 */
export function bound(command: readonly string[], signal = 'KILL'): [program: string, ...parameters: string[]] {
  const wrapped = existsSync(SETPRIV) ? [SETPRIV, '--pdeathsig', signal, ...command] : command
  const [program = '', ...parameters] = wrapped
  return [program, ...parameters]
}
