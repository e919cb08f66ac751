import { startPostgresql } from '/tmp/w/p1/test/helpers/database/postgresql.ts'
const s = await startPostgresql()
console.log(s.port, process.pid)
process.on('SIGTERM', async () => { await s.remove(); process.exit(0) })
setInterval(() => {}, 1000)
