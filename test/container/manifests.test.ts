/**
 * Compares compose.yaml, docs/production/kubernetes.yaml and the Dockerfile with each other, with the settings and with the
 * balancer, and asks a server what the probes ask.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { readComposeFile } from '../helpers/container/compose-file.ts'
import { newDatabase } from '../helpers/database/databases.ts'
import { isInstalled, isSetting, readGuide, shell } from '../helpers/production/guide.ts'
import { startServerProcess } from '../helpers/server/run-command.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (name: string) => readFileSync(root + name, 'utf8')

const dockerfile = read('Dockerfile')
/** What the image sets. */
const image = Object.fromEntries(
  [...dockerfile.replaceAll(/\\\n\s*/g, '').matchAll(/^ENV NODE_ENV.*$/gm)]
    .flatMap(([line]) => line.split(/\s+/).slice(1))
    .map((pair) => pair.split('=') as [string, string]),
)

test('the base of the image is the version of Node.js that the tests run on, by its digest', () => {
  const version = read('.node-version').trim()
  const [first = '', ...others] = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image)
  expect(first).toMatch(/@sha256:[0-9a-f]{64}$/)
  expect([first.split('@')[0], ...others]).toEqual([`node:${version}-bookworm-slim`, 'base', 'base'])
  expect(readGuide(`container/README.md`)).toContain(`node:${version}-bookworm-slim`)
})

describe('compose.yaml', () => {
  const { services, volumes } = readComposeFile()

  test('hardens every service, and has no password', () => {
    const hardened = { read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] }
    for (const [name, service] of Object.entries(services)) expect(service, name).toMatchObject(hardened)
    const passwords = [...read('compose.yaml').matchAll(/PASSWORD: (.*)$/gm)].map(([, value]) => value)
    expect(passwords).toHaveLength(2)
    for (const password of passwords) expect(password).toMatch(/^\$\{POSTGRES_PASSWORD:-\}$/)
    expect(read('compose.yaml')).not.toMatch(/\/\/[^@/\s]+:[^@/\s]+@/)
  })

  test('sets only known settings, as the image does', () => {
    const names = [services['plant-store'], services['server-1'], services['server-2'], services['migrate']]
    const set = names.flatMap((service) => Object.keys(service?.environment ?? {}))
    const unknown = [...Object.keys(image), ...set].filter((name) => !isSetting(name))
    expect(new Set(unknown)).toEqual(new Set(['SQLITE_TMPDIR', 'PGPASSWORD']))
  })

  test('names ports, paths, volumes and dependencies that exist', () => {
    expect(services['plant-store']).toMatchObject({ ports: [`127.0.0.1:${image['PORT']}:${image['PORT']}`] })
    expect(dockerfile).toContain(`\nEXPOSE ${image['PORT']} ${image['ADMIN_PORT']}\n`)
    const folder = image['DATABASE_URL']?.replace(/^file:|\/[^/]+$/g, '')
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

  test('lets the servers wait for the migration, the balancer for the servers, and checks the health of each', () => {
    for (const name of ['server-1', 'server-2']) {
      expect(services[name]?.depends_on).toEqual({ migrate: { condition: 'service_completed_successfully' } })
      expect(services['balancer']?.depends_on).toHaveProperty(name, { condition: 'service_healthy' })
      expect(services[name]?.healthcheck).toBeUndefined()
    }
    expect(dockerfile).toMatch(/^HEALTHCHECK .*CMD \["node", "\/app\/dist\/health-check\.js"\]$/m)
    expect(services['migrate']?.depends_on).toEqual({ database: { condition: 'service_healthy' } })
    for (const name of ['database', 'balancer']) expect(services[name]?.healthcheck?.test?.[0]).toBe('CMD')
  })

  test('has the balancer of several machines, which are the services', () => {
    const normalize = (text: string) => text.replace(/#.*|server_name .*;/g, '').replace(/\s+/g, ' ')
    const addressOf = (name: string) => {
      const networks = services[name]?.networks as Record<string, { ipv4_address: string }>
      return `${networks['postgresql']?.ipv4_address}:${image['PORT']}`
    }
    // test/several-machines.test.ts runs this one. In Compose, the URL of clients has a port.
    const balancer = normalize(readGuide('several-machines/nginx.conf'))
      .replace('10.0.0.11:3000', addressOf('server-1'))
      .replace('10.0.0.12:3000', addressOf('server-2'))
      .replace('listen 80;', 'listen 8080;')
      .replace('$host;', '$http_host;')
    expect(normalize(readGuide('container/nginx.conf'))).toContain(balancer.trim())
    expect(services['balancer']?.ports).toEqual(['127.0.0.1:8080:8080'])
  })

  test('has a balancer whose configuration nginx accepts', async ({ skip }) => {
    if (!isInstalled('nginx')) skip('nginx is not installed.')
    const folder = temporaryFolder()
    const file = path.join(folder, 'nginx.conf')
    writeFileSync(file, readGuide('container/nginx.conf').replaceAll('/tmp/', `${folder}/`))
    await shell(`nginx -t -q -c ${file}`)
  })
})

describe('kubernetes.yaml', () => {
  const PROBES = ['startupProbe', 'livenessProbe', 'readinessProbe'] as const

  /** What the tests need of a container of a pod. */
  interface Container extends Record<(typeof PROBES)[number], { httpGet: { path: string; port: string } }> {
    args?: string[]
    env: { name: string; value?: string; valueFrom?: { secretKeyRef: { name: string } } }[]
    ports: { name: string; containerPort: number }[]
    securityContext: object
  }

  const [job, deployment, service, policy] = parseAllDocuments(readGuide('kubernetes.yaml')).map((document) => {
    expect(document.errors).toEqual([])
    return document.toJS()
  })
  const containerOf = (object: typeof job): Container => object.spec.template.spec.containers[0]
  const container = containerOf(deployment)
  const settings = Object.fromEntries(container.env.flatMap(({ name, value }) => (value ? [[name, value]] : [])))

  test('has a job that migrates, a deployment and a service, with known settings and the rights of the image', () => {
    const kinds = [job, deployment, service, policy].map(({ kind }) => kind)
    expect(kinds).toEqual(['Job', 'Deployment', 'Service', 'NetworkPolicy'])
    expect(containerOf(job).args).toEqual(['migrate'])
    expect(service.spec.selector).toEqual(deployment.spec.template.metadata.labels)
    expect(deployment.spec.selector.matchLabels).toEqual(service.spec.selector)
    const [, user] = /^USER (\d+):/m.exec(dockerfile) ?? []
    const drop = { capabilities: { drop: ['ALL'] } }
    for (const object of [job, deployment]) {
      const { env, securityContext } = containerOf(object)
      expect(env.filter(({ name }) => !isSetting(name) && name !== 'NODE_OPTIONS')).toEqual([])
      expect(env[0]).toMatchObject({ name: 'DATABASE_URL', valueFrom: { secretKeyRef: { name: 'plant-store' } } })
      expect(object.spec.template.spec.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: Number(user) })
      expect(object.spec.template.spec.automountServiceAccountToken).toBe(false)
      expect(securityContext).toEqual({ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, ...drop })
    }
  })

  test('has the ports of the image, and does not publish the private one', () => {
    expect(container.ports).toEqual([
      { name: 'http', containerPort: Number(image['PORT']) },
      { name: 'admin', containerPort: Number(image['ADMIN_PORT']) },
    ])
    expect(service.spec.ports).toEqual([{ name: 'http', port: 80, targetPort: 'http' }])
  })

  test('lets the ingress reach the servers, which trust it by its addresses, and the monitoring their private port', () => {
    expect(settings['TRUST_PROXY']).toMatch(/^[\d.]+\/\d+$/)
    const from = (name: string) => [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } } }]
    expect(policy.spec).toEqual({
      podSelector: deployment.spec.selector,
      policyTypes: ['Ingress'],
      ingress: [
        { from: from('ingress-nginx'), ports: [{ port: 'http' }] },
        { from: from('monitoring'), ports: [{ port: 'admin' }] },
      ],
    })
  })

  test('has probes of what a server responds, and a shutdown ends readiness alone, within the grace period', async () => {
    const { terminationGracePeriodSeconds } = deployment.spec.template.spec
    expect(terminationGracePeriodSeconds).toBeGreaterThan(
      Number(/^(\d+)s$/.exec(String(settings['SHUTDOWN_TIMEOUT']))?.[1]),
    )
    const environment = { ...settings, DATABASE_URL: await newDatabase(), PORT: '0', ADMIN_PORT: '0' }
    const server = await startServerProcess({ ...environment, ADMIN_HOST: '127.0.0.1', SHUTDOWN_DELAY: '15s' })
    /** Returns the status of the start, of liveness and of readiness. */
    const probe = () =>
      Promise.all(
        PROBES.map(async (name) => {
          const { path, port } = container[name].httpGet
          expect(port).toBe('admin')
          return (await fetch(server.adminUrl + path)).status
        }),
      )
    expect(await probe()).toEqual([200, 200, 200])
    server.signal('SIGTERM')
    await expect.poll(probe).toEqual([200, 200, 503])
    await server.end('SIGKILL')
  })
})
