/**
 * Runs the guide for several machines with a real systemd, nginx and PostgreSQL. One machine has the addresses of all, so
 * there is one server; test/several-machines.test.ts has two. The connection to the database is not encrypted.
 */
import { existsSync, readdirSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isLong } from './helpers/long-tests.ts'
import { codeBlock, readGuide } from './helpers/production/guide.ts'
import { type Machine, startMachine, whyNoMachine } from './helpers/production/machine.ts'
import { buildNextRelease, buildRelease } from './helpers/production/release.ts'
import { temporaryFolder } from './helpers/temporary-folder.ts'

const oneMachine = readGuide('README.md')
const guide = readGuide('several-machines/README.md')
const MINUTES = 60_000
const CLUSTERS = '/usr/lib/postgresql'

const why = isLong
  ? whyNoMachine(['systemctl', 'nginx', 'sudo', 'curl', 'ip', 'pg_createcluster'])
  : 'set PLANT_STORE_LONG_TESTS=1 for that'
if (why) console.log(`The guide for several machines is not run: ${why}.`)

describe.skipIf(why)('on a machine with the addresses of all', { timeout: 2 * MINUTES }, () => {
  const version = existsSync(CLUSTERS) ? readdirSync(CLUSTERS).at(-1) : undefined
  const releases = temporaryFolder()
  let machine: Machine
  let token: string

  beforeAll(async () => {
    const archive = await buildRelease(releases, codeBlock(oneMachine, 'Build a release', 0))
    machine = await startMachine()
    await machine.copy(archive, '/root/plant-store-1.0.0.tar.gz')
    await machine.run(`
      for last in 10 11 20; do ip address add 10.0.0.$last/24 dev lo; done
      pg_createcluster --port=5432 ${version} guide
      echo "listen_addresses = '10.0.0.20'" >>/etc/postgresql/${version}/guide/postgresql.conf
      echo 'host all all 10.0.0.0/24 scram-sha-256' >>/etc/postgresql/${version}/guide/pg_hba.conf
      systemctl start postgresql@${version}-guide
      umask 077
      echo '10.0.0.20:*:*:plant_store_owner:owned' >/root/.pgpass
      tar --extract --directory=/root --file=/root/plant-store-1.0.0.tar.gz`)
  }, 10 * MINUTES)
  afterAll(() => machine?.remove())

  const run = (section: string, index: number, text = guide) =>
    machine.run(`cd /root\n${codeBlock(text, section, index)}`)

  test('the database is created, and the role of the servers gets its rights', async () => {
    // createuser asks for the passwords.
    const commands = codeBlock(guide, 'Create the database', 0)
      .replaceAll('--pwprompt ', '')
      .concat(`psql --command="ALTER ROLE plant_store_owner PASSWORD 'owned'"\n`)
      .concat(`psql --command="ALTER ROLE plant_store PASSWORD 'served'"\n`)
    await machine.run(`cd /; sudo -u postgres bash -euc '${commands.replaceAll("'", `'\\''`)}'`)
    await run('Create the database', 1)
  })

  test('a server is installed with its drop-ins, starts, and serves behind the balancer', async () => {
    await run('Install', 0, oneMachine)
    const settings = codeBlock(guide, 'Install the servers', 0, 'ini')
      .replace('PASSWORD', 'served')
      .replace(/\?\S+/, '')
    await machine.run(`cd /root/plant-store-1.0.0/production/several-machines
      for unit in service socket; do install -d /etc/systemd/system/plant-store.$unit.d; done
      install -m 644 server.conf /etc/systemd/system/plant-store.service.d/several-machines.conf
      install -m 644 socket.conf /etc/systemd/system/plant-store.socket.d/several-machines.conf
      sed -i -E '/^(DATABASE_URL|TRUST_PROXY)=/d' /etc/plant-store/plant-store.env
      cat >>/etc/plant-store/plant-store.env <<'END'\n${settings}END`)
    await run('Install the servers', 0)
    expect(await machine.run('curl -sSf http://10.0.0.11:3001/readyz')).toBe('ready\n')

    token = (await run('Install the servers', 1)).trim()
    await machine.run(`cp /root/plant-store-1.0.0/production/several-machines/nginx.conf /etc/nginx/conf.d/plant-store.conf
      rm -f /etc/nginx/sites-enabled/default; systemctl reload-or-restart nginx
      curl -sSf -H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' -d '{"id": 1, "name": "Ficus"}' http://10.0.0.10/plants`)
    expect(await plants()).toBe('[{"name":"Ficus"}]')
  })

  test('without the addresses that the drop-in allows, the server reaches no database', async () => {
    const file = '/etc/systemd/system/plant-store.service.d/several-machines.conf'
    await machine.run(`mv ${file} /root; systemctl daemon-reload; systemctl restart --no-block plant-store`)
    await expect
      .poll(() => machine.run('journalctl --unit=plant-store --output=cat'), { timeout: MINUTES })
      .toMatch(/plant-store: .*10\.0\.0\.20/)
    await machine.run(`mv /root/several-machines.conf ${file}; systemctl daemon-reload; systemctl restart plant-store`)
    expect(await plants()).toBe('[{"name":"Ficus"}]')
  })

  test('a server is updated after the database', async () => {
    await machine.copy(await buildNextRelease(releases), '/root/plant-store-1.1.0.tar.gz')
    await machine.run('tar --extract --directory=/root --file=/root/plant-store-1.1.0.tar.gz')
    await run('Update', 0)
    await run('Update', 1)
    expect(await machine.run('plant-store --version')).toBe('next\n')
    expect(await plants()).toBe('[{"name":"Ficus"}]')
  })

  function plants(): Promise<string> {
    return machine.run(`curl -sSf -H 'Authorization: Bearer ${token}' http://10.0.0.10/plants`)
  }
})
