/**
 * Runs every command of docs/production/README.md, in order, on a machine of its own with a real systemd, nginx and sudo, then
 * moves it to PostgreSQL by those of several-machines. What is not real: the build machine is this one, the network is a
 * loopback device, and limits of memory hold only if the control groups of this machine have a controller for it.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { codeBlock, codeBlocks, readGuide, shell } from './helpers/production/guide.ts'
import { type Machine, startMachine, whyNoMachine } from './helpers/production/machine.ts'
import { temporaryFolder } from './helpers/temporary.ts'

const guide = readGuide('README.md')
const [NAME, NEXT] = ['plant-store-1.0.0', 'plant-store-1.1.0']
const releases = temporaryFolder()
/** What systemd computes, from 0, safe, to 10. Debian 12's, with room for the checks of newer versions: 1.1 and 0.2. */
const MAX_EXPOSURE = {
  'plant-store.service': 1.3,
  'plant-store-backup.service': 0.4,
  'plant-store-offsite.service': 1.3,
}

/** In the version that the guide names. */
const POSTGRES = '/usr/lib/postgresql/15/bin/postgres'
const why = whyNoMachine(['systemctl', 'nginx', 'sudo', 'curl', 'ip', 'restic', 'pg_createcluster', POSTGRES])

describe.skipIf(why)('on a machine with Node.js, PostgreSQL, systemd, nginx and sudo', () => {
  let machine: Machine
  let token: string
  const done = [codeBlock(guide, 'Build a release', 0)]

  beforeAll(async () => {
    const commands = codeBlock(guide, 'Build a release', 0)
      .replace(`deploy -- ${NAME}`, `deploy -- ${releases}/${NAME}`)
      .replace(`docs/production ${NAME}`, `docs/production ${releases}/${NAME}`)
      .replace('tar ', `cd ${releases} && tar `)
    // And another release, which differs only in its version.
    await shell(`${commands}
      cp -r ${NAME} ${NEXT}
      sed -i 's/"version": "[^"]*"/"version": "next"/' ${NEXT}/package.json
      tar --create --owner=0 --group=0 --file=${NEXT}.tar.gz ${NEXT}`)
    machine = await startMachine(releases)
  }, 600_000)
  afterAll(() => machine?.remove())

  /** Returns a block of a page, and marks it as run. */
  function block(section: string, index = 0, page = guide): string {
    const text = codeBlock(page, section, index)
    done.push(text)
    return text
  }

  /** Runs a block of the guide in the folder with the archives. */
  const run = (section: string, index = 0, change = (text: string) => text) =>
    machine.run(`cd /root\n${change(block(section, index))}`)

  const show = async (property: string, unit = 'plant-store') =>
    (await machine.run(`systemctl show --value --property=${property} ${unit}`)).trim()

  /** Calls the server through nginx, with options of curl. */
  const curl = (options: string, query = '') =>
    machine.run(`curl -sS -H 'Authorization: Bearer ${token}' ${options} 'http://127.0.0.1/plants${query}'`)

  const create = (id: number) =>
    curl(`-f -H 'Content-Type: application/json' -d '{"id": ${id}, "name": "plant ${id}"}'`)

  /** Returns the names of all plants. */
  async function plants(): Promise<string[]> {
    const list: { name: string }[] = JSON.parse(await curl('-f'))
    return list.map(({ name }) => name)
  }

  test('it is installed, starts, and serves behind nginx', async () => {
    await run('Install', 0)
    // Each test stops the server.
    await machine.run('echo SHUTDOWN_DELAY=0 >>/etc/plant-store/plant-store.env')
    await run('Install', 1)
    expect(await show('ActiveState')).toBe('active')
    expect(await machine.run('curl -sSf http://127.0.0.1:3001/readyz')).toBe('ready\n')
    // The command that the first startup names.
    const log = await machine.run('journalctl --unit=plant-store --output=cat')
    const command = `create a token with "${block('Install', 2).trim()}" and the settings of this server`
    expect(log).toContain(JSON.stringify(`the plant store is empty: ${command}`))
    token = (await run('Install', 2)).trim()
    expect(token).toMatch(/^pst_\w+$/)
    await run('Behind nginx')
    await create(1)
    expect(await plants()).toEqual(['plant 1'])
  })

  test('the code belongs to root, and systemd rates the exposure of the services as low', async () => {
    const notOfRoot = await machine.run('find /opt/plant-store /etc/plant-store ! -user root -o -perm /o+w ! -type l')
    expect(notOfRoot).toBe('')
    for (const [unit, max] of Object.entries(MAX_EXPOSURE)) {
      const rating = await machine.run(`systemd-analyze security ${unit}`)
      const [, exposure] = /exposure level for \S+ ([\d.]+)/.exec(rating) ?? []
      expect(Number(exposure)).toBeLessThanOrEqual(max)
    }
  })

  test('with TLS, nginx responds on port 443, and on port 80 only to what renews the certificate', async () => {
    await machine.run(`openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=plants.example.com \\
      -keyout /etc/nginx/plant-store.key -out /etc/nginx/plant-store.pem
      mkdir -p /var/www/html/.well-known/acme-challenge && echo proof >/var/www/html/.well-known/acme-challenge/1`)
    await run('Behind nginx', 1)
    const headers = `--retry 60 --retry-all-errors -H 'Authorization: Bearer ${token}'`
    const list = await machine.run(`curl -ksSfi ${headers} https://127.0.0.1/plants`)
    expect(list).toMatch(/^HTTP\/2 200[\s\S]*^strict-transport-security: max-age=31536000\r$[\s\S]*plant 1/im)
    const rejected = await machine.run(`curl -ksS ${headers} -H "Cookie: $(printf %060000d)" https://127.0.0.1/plants
      curl -sS http://127.0.0.1:443/plants`)
    expect(rejected).toMatch(/^\{"error":43100,.*\}\{"error":40000,.*\}$/)
    // A worker of before the reload may still accept a connection.
    const plain = `curl -sS -H 'Authorization: Bearer ${token}' http://127.0.0.1/plants`
    await expect.poll(() => machine.run(plain).catch(String)).toContain('Empty reply')
    expect(await machine.run('curl -sSf http://127.0.0.1/.well-known/acme-challenge/1')).toBe('proof\n')
    // The other tests and the other guide use port 80.
    await machine.run('rm /etc/nginx/conf.d/plant-store-tls.conf')
    await machine.run(block('Behind nginx', 0))
    await expect.poll(() => plants().catch(String)).toEqual(['plant 1'])
  })

  test('a process that is killed is started again', async () => {
    const first = await show('MainPID')
    await machine.run('systemctl kill --signal=SIGKILL plant-store')
    await expect.poll(() => plants().catch(String)).toEqual(['plant 1'])
    const second = await show('MainPID')
    expect(second).not.toBe(first)
  })

  test('with invalid settings it stops and stays stopped until they are fixed', async () => {
    const file = '/etc/plant-store/plant-store.env'
    await machine.run(`sed -i 's/^ADMIN_PORT=.*/ADMIN_PORT=many/' ${file}`)
    await expect(machine.run('systemctl restart plant-store')).rejects.toThrow('failed')
    expect([await show('ExecMainStatus'), await show('NRestarts')]).toEqual(['2', '0'])
    await expect.poll(() => show('ActiveState')).toBe('failed')
    expect(await machine.run('journalctl --unit=plant-store --output=cat')).toContain('ADMIN_PORT must be')
    await machine.run(`sed -i 's/^ADMIN_PORT=.*/ADMIN_PORT=3001/' ${file}; systemctl restart plant-store`)
    expect(await plants()).toEqual(['plant 1'])
  })

  test('a backup is made, and those older than two weeks are deleted', async () => {
    expect(await show('ActiveState', 'plant-store-backup.timer')).toBe('active')
    await machine.run('sudo -u plant-store touch -d "15 days ago" /var/backups/plant-store/plants-old.db')
    await machine.run('sudo -u plant-store touch -d "13 days ago" /var/backups/plant-store/plants-recent.db')
    // What was killed has left these.
    await machine.run('sudo -u plant-store touch /var/backups/plant-store/plants-killed.db.incomplete{,-journal}')
    const list = await run('Back up')
    expect(list).toMatch(/^-rw-------\S* \d+ plant-store plant-store .* plants-\d{4}-\d\d-\d\d-\d{6}\.db$/m)
    expect(list).toContain('plants-recent.db')
    expect(list).not.toMatch(/plants-(?:old|killed)\.db/)
  })

  test('each backup is sent away, and a restore can be tried', async () => {
    // In the place of another machine, a folder of this one.
    const [place, metrics] = ['/srv/elsewhere', '/var/lib/prometheus/node-exporter']
    await machine.run(`install -d -o plant-store ${place} ${metrics} /etc/systemd/system/plant-store-offsite.service.d
      printf '[Service]\nReadWritePaths=${place}\n' >/etc/systemd/system/plant-store-offsite.service.d/place.conf
      systemctl daemon-reload; systemctl start plant-store-offsite`)
    await run('Send backups away', 0, (text) => text.replace(/sftp:\S+/, place))
    expect(await machine.run('stat -c "%a %U" /etc/plant-store/offsite.env')).toBe('600 root\n')
    await run('Send backups away', 1)
    // A backup that is being made.
    await machine.run('touch /var/backups/plant-store/other.db.incomplete')
    await run('Back up')
    await expect.poll(() => machine.run(`ls ${place}/snapshots | wc -l`)).toBe('2\n')
    await expect.poll(() => show('ActiveState', 'plant-store-offsite')).toBe('inactive')
    const [newest = ''] = (await machine.run('ls -t /var/backups/plant-store/plants-*.db')).split('\n')
    const modified = await machine.run(`stat -c %Y ${newest} ${metrics}/plant-store-offsite.prom`)
    expect(modified).toMatch(/^(\d+)\n\1\n$/)
    expect(await run('Send backups away', 2)).toMatch(/ me /)
    expect(
      await machine.run('find /var/tmp/tried -name "*.incomplete"; rm /var/backups/plant-store/*.incomplete'),
    ).toBe('')
  })

  test('an upgrade changes the version, and can be undone', async () => {
    const before = await plants()
    expect(await run('Upgrade', 0)).toMatch(/up to date/)
    for (const [step, version] of ['next', '1.0.0'].entries()) {
      await run('Upgrade', step + 1)
      expect(await machine.run('plant-store --version')).toBe(`${version}\n`)
      expect(await plants()).toEqual(before)
      // Root has run the backup.
      expect(await machine.run('find /var/lib/plant-store /var/backups/plant-store ! -user plant-store')).toBe('')
    }
  })

  test('a restored backup has what was backed up', async () => {
    const file = (await machine.run('ls /var/backups/plant-store/plants-20*.db | head -n 1')).trim()
    const { id: tokenId } = JSON.parse(await machine.run('plant-store token create --account leaked --json'))
    await machine.run(`plant-store backup ${file}.2.db; plant-store token revoke ${tokenId}`)
    await run('Restore', 0)
    /** Restores a backup. The name of the folder has seconds. */
    const restore = (backup: string) =>
      run('Restore', 1, (text) => `sleep 1\n${text.replace(/\S+2026-11-21\S+\.db/, backup)}`)
    await restore(`${file}.2.db`)
    expect(await run('Restore', 2)).toMatch(new RegExp(`^${tokenId} .*leaked.*\n$`))
    await create(2)
    // What the first restore has put away must survive the second.
    await restore(file)
    expect(await plants()).toEqual(['plant 1'])
    await create(3)
    expect(await plants()).toEqual(['plant 1', 'plant 3'])
    const kept = await machine.run('ls -d /var/lib/plant-store/before*/plants.db')
    expect(kept.trim().split('\n')).toHaveLength(2)
  })

  test('the kernel takes the limit of what it buffers', async () => {
    // In a network of its own; the other limit belongs to the whole machine.
    const [buffers = ''] = codeBlock(guide, 'Limit what the kernel buffers', 0, 'ini').split('\n')
    expect(await shell(`unshare --net sysctl --write '${buffers}'`)).toBe(`${buffers}\n`)
  })

  test('a token is rotated: both are valid until the old one is revoked', async () => {
    const [old] = JSON.parse(await machine.run('plant-store token list --account me --active --json'))
    const [next = '', ...list] = (await run('Rotate a token', 0)).split('\n')
    expect(list.join('\n')).toContain('shop, 2027')
    const before = await plants()
    const rotate = (index: number) => run('Rotate a token', index, (text) => text.replace('5f2a9c01b7de', old.id))
    await rotate(1)
    await expect.poll(() => plants().catch(String)).toContain('401')
    token = next
    expect(await plants()).toEqual(before)
  })

  /** Creates an account with two plants, and deletes it while the server runs; then its secret of the cursors is replaced. */
  async function forget(remove: () => Promise<unknown>, replace: () => Promise<unknown>) {
    const [owner, before] = [token, await plants()]
    const createToken = () => machine.run('plant-store token create --account me2')
    token = (await createToken()).trim()
    for (const id of [1, 2]) await create(id)
    await remove()
    expect(JSON.parse(await curl(''))).toMatchObject({ error: 40102 })
    token = (await createToken()).trim()
    expect(await plants()).toEqual([])
    for (const id of [2, 1]) await create(id)
    const [cursor = ''] = /(?<=cursor=)[\w-]+/.exec(await curl('-D - -o /dev/null', '?limit=1')) ?? []
    const next = () => curl('', `?limit=1&cursor=${cursor}`)
    expect(JSON.parse(await next())).toEqual([{ name: 'plant 1' }])
    await replace()
    await expect.poll(next).toContain('40004')
    token = owner
    expect(await plants()).toEqual(before)
  }
  const sqlOf = (section: string) => codeBlock(guide, section, 0, 'sql').replaceAll("'me'", "'me2'")

  test('an account is deleted, and the secret of the cursors replaced', async () => {
    const remove = () => run('Delete an account', 0, (text) => text.replace('"me"', '"me2"'))
    await forget(remove, () => run('Replace the secret of the cursors'))
  })

  test('the commands that look for what is wrong run', async () => {
    const looks = /`((?:curl|df|grep|journalctl|plant-store|systemctl s(?:how|tatus)) [^`\n]+)`/g
    const pages = guide + readGuide('monitoring/README.md') + readGuide('monitoring/alerts.yml')
    const commands = new Set([...pages.matchAll(looks)].map(([, command = '']) => command))
    expect(commands.size).toBeGreaterThan(10)
    for (const command of commands) expect(await machine.run(command), command).not.toBe('')
  })

  test('every command of the page was run', () => {
    expect(codeBlocks(guide).filter((text) => !done.includes(text))).toEqual([])
  })

  describe('with the addresses of several machines', () => {
    const servers = readGuide('several-machines/README.md')
    const runHere = (section: string, index = 0) =>
      machine.run(`cd /root; export PGPASSWORD=owned\n${block(section, index, servers)}`)
    const START = 'systemctl start plant-store.service'
    const STOP = START.replace('start', 'stop')
    /** Runs commands as the user postgres. */
    const asPostgres = (script: string) => {
      const bash = 'sudo -u postgres env "PATH=$PATH:/usr/lib/postgresql/15/bin" bash'
      return machine.run(`cd /; ${bash} -euc '${script.replaceAll("'", `'\\''`)}'`)
    }
    const runAsPostgres = (section: string, index = 0) =>
      asPostgres(block(section, index, servers).replaceAll('2026-11-21', '$(date +%F)'))
    let stored: string[]

    test('the database is created, the role of the servers gets its rights, and the plants move there', async () => {
      const folders = /`(install -d -o postgres .*)`/.exec(servers)?.[1]
      stored = await plants()
      await machine.run(`
        for last in 10 11 20; do ip address add 10.0.0.$last/24 dev lo; done
        test ! -d /etc/postgresql/15/main || pg_dropcluster 15 main
        pg_createcluster --port=5432 15 main
        ${folders}
        cat >>/etc/postgresql/15/main/postgresql.conf <<'END'\nlisten_addresses = '10.0.0.20'\nEND
        echo 'host all all 10.0.0.0/24 scram-sha-256' >>/etc/postgresql/15/main/pg_hba.conf
        systemctl start postgresql@15-main
        umask 077
        tar --extract --directory=/root --file=/root/plant-store-1.0.0.tar.gz`)
      // createuser asks for the passwords.
      await asPostgres(block('Create the database', 0, servers).replaceAll('--pwprompt ', ''))
      await asPostgres(`psql --command="ALTER ROLE plant_store_owner PASSWORD 'owned'" \\
        --command="ALTER ROLE plant_store PASSWORD 'served'"`)
      // A database that another program uses too.
      await asPostgres('psql --dbname=plants --command="CREATE TABLE customers ()"')
      await runAsPostgres('Create the database', 1)
      await runAsPostgres('Connections')
      const [, select] = /; Its line: (.*)/.exec(codeBlock(servers, 'Connections', 0, 'ini')) ?? []
      const line = await asPostgres(`psql --no-align --tuples-only <<'END'\n${select}\nEND`)
      expect(line).toMatch(/^"plant_store" "SCRAM-SHA-256\$/)
      await runHere('Create the database', 2)
      await runHere('Move from SQLite')
      await runHere('Move from SQLite', 1)
    })

    test('a server with the drop-ins starts, and serves what was moved behind the balancer', async () => {
      const settings = codeBlock(servers, 'Install the servers', 0, 'ini')
        .replace('PASSWORD', 'served')
        .replace(/\?\S+/, '')
      await machine.run(`cd /opt/plant-store/current/production/several-machines
        install -d /etc/systemd/system/plant-store.service.d
        install -m 644 server.conf /etc/systemd/system/plant-store.service.d/several-machines.conf
        sed -i -E '/^(DATABASE_URL|TRUST_PROXY)=/d' /etc/plant-store/plant-store.env
        cat >>/etc/plant-store/plant-store.env <<'END'\n${settings}END`)
      await runHere('Install the servers', 0)
      const units = '/etc/systemd/system/plant-store{.service,-backup.service,-backup.timer,-offsite.service}'
      expect(await machine.run(`systemd-analyze verify --man=no ${units} 2>&1`)).toBe('')
      expect(await machine.run('curl -sSf http://10.0.0.11:3001/readyz')).toBe('ready\n')
      await machine.run(`cp /opt/plant-store/current/production/several-machines/nginx.conf /etc/nginx/conf.d/plant-store.conf
        systemctl reload nginx`)
      await expect.poll(plants).toEqual(stored)
      token = (await machine.run('plant-store token create --account me')).trim()
      await create(4)
      expect(await plants()).toEqual([...stored, 'plant 4'])
    })

    test('a server is updated after the database', async () => {
      await machine.run('tar --extract --directory=/root --file=/root/plant-store-1.1.0.tar.gz')
      expect(await runHere('Update', 0)).toMatch(/up to date/)
      // From the folder of the new release.
      const commands = codeBlock(servers, 'Create the database', 2).replaceAll(NAME, NEXT)
      await machine.run(`cd /root; export PGPASSWORD=owned\n${commands}`)
      await runHere('Update', 1)
      expect(await machine.run('plant-store --version')).toBe('next\n')
      expect(await plants()).toEqual([...stored, 'plant 4'])
    })

    test('an account is deleted, and the secret of the cursors replaced', async () => {
      const psql = (sql: string) =>
        machine.run(`export PGPASSWORD=owned
          psql --set=ON_ERROR_STOP=1 postgresql://plant_store_owner@10.0.0.20/plants <<'END'\n${sql}\nEND`)
      const replace = async () => {
        await machine.run(STOP)
        await psql(sqlOf('Replace the secret of the cursors'))
        await machine.run(START)
      }
      await forget(() => psql(sqlOf('Delete an account')), replace)
    })

    test('a restored dump has what was dumped, and takes new plants', async () => {
      const dumped = await plants()
      await runAsPostgres('Back up', 0)
      // Twice: the second restore must not stop at the database that the first has put away, named by the second.
      for (const id of [10, 11]) {
        await create(id)
        await runAsPostgres('Restore a dump', 0)
        await machine.run(`${STOP}; sleep 1`)
        await runAsPostgres('Restore a dump', 1)
        // What the guide says for a schema of its own, which is in the dump.
        await asPostgres(
          codeBlock(servers, 'Create the database', 1)
            .replace('CREATE SCHEMA', 'ALTER SCHEMA')
            .replace('AUTHORIZATION', 'OWNER TO'),
        )
        await machine.run(START)
        await expect.poll(plants).toEqual(dumped)
      }
    })
  })
})
