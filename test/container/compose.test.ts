/** Compares compose.yaml and the Dockerfile with each other, with the settings and with the balancer. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { readComposeFile } from '../helpers/container/compose-file.ts'
import { isInstalled, isSetting, readGuide, shell } from '../helpers/production/guide.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (name: string) => readFileSync(root + name, 'utf8')

const { services, volumes } = readComposeFile()
const dockerfile = read('Dockerfile')
const settings = Object.fromEntries(
  [...dockerfile.replaceAll(/\\\n\s*/g, '').matchAll(/^ENV NODE_ENV.*$/gm)]
    .flatMap(([line]) => line.split(/\s+/).slice(1))
    .map((pair) => pair.split('=') as [string, string]),
)

test('every service is hardened, and no file has a password', () => {
  for (const [name, service] of Object.entries(services)) {
    expect(service, name).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
    })
  }
  const passwords = [...read('compose.yaml').matchAll(/PASSWORD: (.*)$/gm)].map(([, value]) => value)
  expect(passwords).toHaveLength(2)
  for (const password of passwords) expect(password).toMatch(/^\$\{POSTGRES_PASSWORD:-\}$/)
  expect(read('compose.yaml')).not.toMatch(/\/\/[^@/\s]+:[^@/\s]+@/)
})

test('the image and the services set only known settings', () => {
  const names = [services['plant-store'], services['server-1'], services['server-2'], services['migrate']]
  const set = names.flatMap((service) => Object.keys(service?.environment ?? {}))
  const unknown = [...Object.keys(settings), ...set].filter((name) => !isSetting(name))
  expect(new Set(unknown)).toEqual(new Set(['SQLITE_TMPDIR', 'PGPASSWORD']))
})

test('ports, paths, volumes and dependencies lead to what exists', () => {
  expect(services['plant-store']).toMatchObject({ ports: [`127.0.0.1:${settings['PORT']}:${settings['PORT']}`] })
  expect(dockerfile).toContain(`\nEXPOSE ${settings['PORT']} ${settings['ADMIN_PORT']}\n`)
  const folder = settings['DATABASE_URL']?.replace(/^file:|\/[^/]+$/g, '')
  expect(dockerfile).toContain(`\nVOLUME ${folder}\n`)
  expect(services['plant-store']?.volumes).toEqual([`data:${folder}`])
  for (const service of Object.values(services)) {
    for (const volume of service.volumes ?? []) {
      const [source = ''] = volume.split(':')
      expect(source.startsWith('./') ? existsSync(root + source) : source in volumes, volume).toBe(true)
    }
    for (const name of Object.keys(service.depends_on ?? {})) expect(services).toHaveProperty(name)
  }
})

test('the servers wait for the migration, the balancer for the servers, and each has a health check', () => {
  for (const name of ['server-1', 'server-2']) {
    expect(services[name]?.depends_on).toEqual({ migrate: { condition: 'service_completed_successfully' } })
    expect(services['balancer']?.depends_on).toHaveProperty(name, { condition: 'service_healthy' })
    expect(services[name]?.healthcheck).toBeUndefined()
  }
  expect(dockerfile).toMatch(/^HEALTHCHECK .*CMD \["node", "\/app\/dist\/health-check\.js"\]$/m)
  expect(services['migrate']?.depends_on).toEqual({ database: { condition: 'service_healthy' } })
  for (const name of ['database', 'balancer']) expect(services[name]?.healthcheck?.test?.[0]).toBe('CMD')
})

test('the balancer is that of several machines, which are the services', () => {
  const normalize = (text: string) =>
    text
      .replace(/#.*|server_name .*;/g, '')
      .replace(/\s+/g, ' ')
      .trim()
  const configuration = normalize(readGuide('container/nginx.conf'))
  const addressOf = (name: string) => {
    const networks = services[name]?.networks as Record<string, { ipv4_address: string }>
    return `${networks['postgresql']?.ipv4_address}:${settings['PORT']}`
  }
  // test/several-machines.test.ts runs this one. In Compose, the URL of clients has a port.
  const balancer = normalize(readGuide('several-machines/nginx.conf'))
    .replace('10.0.0.11:3000', addressOf('server-1'))
    .replace('10.0.0.12:3000', addressOf('server-2'))
    .replace('listen 80;', 'listen 8080;')
    .replace('$host;', '$http_host;')
  expect(configuration).toContain(balancer)
  expect(services['balancer']?.ports).toEqual(['127.0.0.1:8080:8080'])
})

test('nginx accepts the configuration of the balancer', async ({ skip }) => {
  if (!isInstalled('nginx')) skip('nginx is not installed.')
  const folder = temporaryFolder()
  const file = path.join(folder, 'nginx.conf')
  writeFileSync(file, readGuide('container/nginx.conf').replaceAll('/tmp/', `${folder}/`))
  await shell(`nginx -t -q -c ${file}`)
})

test('the base is the version of Node.js that the tests run on', () => {
  const version = read('.node-version').trim()
  expect(dockerfile).toContain(`\nARG NODE_VERSION=${version}\n`)
  expect(readGuide(`container/README.md`)).toContain(`node:${version}-bookworm-slim`)
})
