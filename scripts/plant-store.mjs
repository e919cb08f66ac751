// The command line as it is built: npm run --silent plant-store -- COMMAND

// npm passes SIGTERM on to its shell, and most shells end without passing it on.
const parent = process.ppid
const timer = setInterval(() => {
  if (process.ppid === parent) return
  clearInterval(timer)
  process.kill(process.pid, 'SIGTERM')
}, 200).unref()

await import('../server/dist/main.js').catch((error) => {
  if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error
  console.error('The plant store is not set up yet. Run: npm run setup')
  process.exitCode = 1
})
