// The command line as it is built: npm run --silent plant-store -- COMMAND

// npm passes SIGTERM on to its shell, and most shells end without passing it on. The signal that has ended the shell may
// arrive here later, and a second one would end the process immediately: it has until the next look.
const parent = process.ppid
let isOrphan = false
const timer = setInterval(() => {
  if (isOrphan) {
    clearInterval(timer)
    process.kill(process.pid, 'SIGTERM')
  }
  isOrphan = process.ppid !== parent
}, 200).unref()

// What Ctrl+C or a closed terminal sends arrives here too, and a second signal would end the process immediately.
await import('../server/dist/commands/signals.js')
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(name, () => clearInterval(timer))

await import('../server/dist/main.js')
