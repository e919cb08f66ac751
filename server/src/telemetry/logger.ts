import pino, { type Logger } from 'pino'

/** Makes the log of the process: lines of JSON for programs, and lines for people where it goes to a terminal. */
export async function createLogger(level: string): Promise<Logger> {
  if (!process.stdout.isTTY) return pino({ level })
  const { default: pretty } = await import('pino-pretty')
  return pino({ level }, pretty({ ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss.l', sync: true }))
}
