import type { Request } from 'express'

/** What some proxies write into `X-Forwarded-For`: `192.0.2.7:4711` or `[2001:db8::1]:4711`. */
const WITH_PORT = /^(?:\[([\da-f:.]+)\]|(\d+\.\d+\.\d+\.\d+))(?::\d+)?$/i

/** Returns the address of a client, if a trusted proxy reports it with a port, without this: each connection has another. */
export function clientAddress({ ip }: Request): string | undefined {
  const [, version6, version4] = (ip && WITH_PORT.exec(ip)) || []
  return version6 ?? version4 ?? ip
}
