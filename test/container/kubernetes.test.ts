/** Compares docs/production/kubernetes.yaml with the image and the settings, and asks a server what its probes ask. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { newDatabase } from '../helpers/database/databases.ts'
import { isSetting, readGuide } from '../helpers/production/guide.ts'
import { startServerProcess } from '../helpers/server/run-command.ts'

const PROBES = ['startupProbe', 'livenessProbe', 'readinessProbe'] as const

/** What the tests need of a container of a pod. */
interface Container extends Record<(typeof PROBES)[number], { httpGet: { path: string; port: string } }> {
  args?: string[]
  env: { name: string; value?: string; valueFrom?: { secretKeyRef: { name: string } } }[]
  ports: { name: string; containerPort: number }[]
  securityContext: object
}

const dockerfile = readFileSync(new URL('../../Dockerfile', import.meta.url), 'utf8')
const [job, deployment, service] = parseAllDocuments(readGuide('kubernetes.yaml')).map((document) => {
  expect(document.errors).toEqual([])
  return document.toJS()
})
const containerOf = (object: typeof job): Container => object.spec.template.spec.containers[0]
const container = containerOf(deployment)
const settings = Object.fromEntries(container.env.flatMap(({ name, value }) => (value ? [[name, value]] : [])))

test('a job migrates, a deployment serves and a service leads to it, with known settings and the rights of the image', () => {
  expect([job.kind, deployment.kind, service.kind]).toEqual(['Job', 'Deployment', 'Service'])
  expect(containerOf(job).args).toEqual(['migrate'])
  expect(service.spec.selector).toEqual(deployment.spec.template.metadata.labels)
  expect(deployment.spec.selector.matchLabels).toEqual(service.spec.selector)
  const [, user] = /^USER (\d+):/m.exec(dockerfile) ?? []
  for (const object of [job, deployment]) {
    const { env, securityContext } = containerOf(object)
    expect(env.filter(({ name }) => !isSetting(name) && name !== 'NODE_OPTIONS')).toEqual([])
    expect(env[0]).toMatchObject({ name: 'DATABASE_URL', valueFrom: { secretKeyRef: { name: 'plant-store' } } })
    expect(object.spec.template.spec.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: Number(user) })
    expect(securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
  }
})

test('the ports are those of the image, and the private one is not published', () => {
  const portOf = (name: string) => Number(new RegExp(`^ +${name}=(\\d+)`, 'm').exec(dockerfile)?.[1])
  expect(container.ports).toEqual([
    { name: 'http', containerPort: portOf('PORT') },
    { name: 'admin', containerPort: portOf('ADMIN_PORT') },
  ])
  expect(service.spec.ports).toEqual([{ name: 'http', port: 80, targetPort: 'http' }])
})

test('the probes ask for what a server responds, and a shutdown ends readiness alone, within the grace period', async () => {
  const seconds = (text = '') => Number(/^(\d+)s$/.exec(text)?.[1])
  expect(deployment.spec.template.spec.terminationGracePeriodSeconds).toBeGreaterThan(
    seconds(settings['SHUTDOWN_TIMEOUT']),
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
