import { readFileSync } from 'node:fs'
import type { Reporter, TestCase, TestModule, TestSuite } from 'vitest/node'

/** Lists what was skipped at the end of a run: the first title of each place in the sources, with the reason. */
export const listSkipped: Reporter = {
  onTestRunEnd(modules) {
    const places = new Map<string, TestCase[]>()
    for (const test of modules.flatMap(findSkipped)) {
      const place = `${test.module.relativeModuleId}:${test.location?.line} ${test.project.name}`
      places.set(place, [...(places.get(place) ?? []), test])
    }
    if (places.size === 0) return
    const lines = [...places].map(([place, [first, ...others]]) => {
      const more = others.length > 0 ? `, and ${others.length} more` : ''
      return `  ${place}: ${first?.fullName}${more} (${first && explain(first)})`
    })
    console.log(`Skipped:\n${lines.join('\n')}\n`)
  },
}

/** Returns the skipped tests of a file, without those that `-t` leaves out. */
function findSkipped({ project, children }: TestModule): TestCase[] {
  const { testNamePattern } = project.vitest.config
  return [...children.allTests('skipped')].filter(({ fullName }) => testNamePattern?.test(fullName) ?? true)
}

/** Returns what the test has said, or else the condition in the sources: of the outermost that is skipped. */
function explain(test: TestCase): string {
  const result = test.result()
  if (result.state === 'skipped' && result.note) return result.note
  let outermost: TestCase | TestSuite = test
  for (let { parent } = test; parent.type === 'suite'; parent = parent.parent) {
    if (parent.options.mode === 'skip') outermost = parent
  }
  const line = readFileSync(test.module.moduleId, 'utf8').split('\n')[(outermost.location?.line ?? 1) - 1] ?? ''
  return /(?:skipIf|runIf)\(.*?\)(?=[.(<])/.exec(line)?.[0] ?? line.trim()
}
