/**
 * What the files of docs/production, compose.yaml and the Dockerfile have in common with the settings. The other tests of this folder and test/production-guide.test.ts run these files.
 */

import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { codeBlock, readGuide } from '../helpers/production/guide.ts'
import { root } from '../helpers/programs.ts'

const read = (name: string) => readFileSync(root + name, 'utf8')

const dockerfile = read('Dockerfile')
/** What the image sets. */
const image = Object.fromEntries(
  [...dockerfile.replaceAll(/\\\n\s*/g, '').matchAll(/^ENV NODE_ENV.*$/gm)]
    .flatMap(([line]) => line.split(/\s+/).slice(1))
    .map((pair) => pair.split('=') as [string, string]),
)
const { services } = parse(read('compose.yaml'), { merge: true })

const kubernetes = readGuide('kubernetes.yaml')
const [job, deployment] = parseAllDocuments(kubernetes).map((document) => document.toJS())
const { containers, terminationGracePeriodSeconds } = deployment.spec.template.spec
const variables: { name: string; value?: string }[] = containers[0].env
const pod = Object.fromEntries(variables.map(({ name, value }) => [name, value ?? '']))

/** Reads a number of a file in docs/production. */
const numberIn = (name: string, pattern: RegExp) => Number(pattern.exec(readGuide(name))?.[1])
const known = [...read('.env.example').matchAll(/^#? ?([A-Z_]+)=/gm)].map(([, name]) => name)
/** Names the settings in lines of an environment file. */
const settingsIn = (text: string) => [...text.matchAll(/^([A-Z_]+)=/gm)].map(([, name = '']) => name)

test.each([
  ['plant-store.env', settingsIn(readGuide('plant-store.env'))],
  ['several-machines', settingsIn(codeBlock(readGuide('several-machines/README.md'), 'Install the servers', 0, 'ini'))],
  ['the image', Object.keys(image)],
  ['compose.yaml', Object.keys({ ...services['server-1'].environment, ...services.migrate.environment })],
  ['kubernetes.yaml', Object.keys(pod)],
])('%s sets nothing that the server does not know', (_, names) => {
  expect(names).toContain('DATABASE_URL')
  const others = ['SQLITE_TMPDIR', 'PGPASSWORD', 'NODE_OPTIONS']
  expect(names.filter((name) => !known.includes(name) && !others.includes(name))).toEqual([])
})

test('the commands in kubernetes.yaml name what is in it', () => {
  const named = kubernetes.match(/(?<=(?:job|deployment)\/|--selector=app=)\S+/g) ?? []
  const { labels } = deployment.spec.template.metadata
  const known = [job.metadata.name, job.metadata.labels.app, deployment.metadata.name, labels.app]
  expect(named.length).toBeGreaterThan(4)
  expect(named.filter((name) => !known.includes(name))).toEqual([])
})

const byDefault = numberIn('../../.env.example', /^(?:# )?SHUTDOWN_TIMEOUT=(\d+)s$/m)

test.each([
  ['systemd', numberIn('plant-store.service', /^TimeoutStopSec=(\d+)s$/m), byDefault],
  ['Docker', 10, Number.parseInt(image['SHUTDOWN_TIMEOUT'] ?? '', 10)],
  ['Kubernetes', terminationGracePeriodSeconds, Number.parseInt(pod['SHUTDOWN_TIMEOUT'] ?? '', 10)],
])('%s gives a shutdown more time than it may take', (_, time, shutdown) => {
  expect(shutdown).toBeGreaterThan(0)
  expect(time).toBeGreaterThan(shutdown)
})

test('the base of the image is the version of Node.js that the tests run on; it and other images have their digests', () => {
  const base = `node:${read('.node-version').trim()}-bookworm-slim`
  const [first = '', ...others] = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, name]) => name)
  const { strategy } = parse(read('.github/workflows/ci.yml')).jobs.check
  const images = Object.values<{ image: string }>(services).map(({ image: name }) => name)
  const foreign = [first, ...images, ...strategy.matrix.node].filter((name) => name !== 'plant-store')
  expect(foreign.length).toBeGreaterThan(5)
  for (const name of foreign) expect(name).toMatch(/@sha256:[0-9a-f]{64}$/)
  expect([first.split('@')[0], ...others]).toEqual([base, 'base', 'base'])
  expect(readGuide('container/README.md')).toContain(base)
})
