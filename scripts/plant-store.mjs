// The command line as it is built: npm run --silent plant-store -- COMMAND

// npm passes SIGTERM on to its shell, and most shells end without passing it on.
const parent = process.ppid
const timer = setInterval(() => {
  if (process.ppid === parent) return
  clearInterval(timer)
  process.kill(process.pid, 'SIGTERM')
}, 200).unref()

await import('../server/dist/main.js')
