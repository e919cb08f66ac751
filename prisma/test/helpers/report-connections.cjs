// Loaded into a process and those that it starts: writes a line to CONNECTIONS for each host that they connect to.
const { appendFileSync } = require('node:fs')
const { Socket } = require('node:net')

const { connect } = Socket.prototype
Socket.prototype.connect = function (...args) {
  const [options] = Array.isArray(args[0]) ? args[0] : args
  appendFileSync(process.env.CONNECTIONS, `${options?.host ?? options?.path ?? args[1]}\n`)
  return connect.apply(this, args)
}
