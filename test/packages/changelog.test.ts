import { expect, test } from 'vitest'
import { addRelease } from '../../scripts/release/changelog.mjs'

const release = { version: '1.1.0', date: '2026-11-25' }
const added = { summary: 'Plants have a height.\nIt is in metres.\n', releases: [{ type: 'minor' }] }
const removed = { summary: 'Tags are gone.', releases: [{ type: 'patch' }, { type: 'major' }] }
const fixed = { summary: 'A list is complete.', releases: [{ type: 'patch' }] }

test('a release has a line per changeset, breaking changes first', () => {
  const text = '# Changelog\n\n## 1.0.0 (2026-11-22)\n\n- The first version.\n'
  expect(addRelease(text, { ...release, changesets: [added, removed, fixed] })).toBe(`# Changelog

## 1.1.0 (2026-11-25)

- **Breaking:** Tags are gone.
- Plants have a height.
  It is in metres.
- A list is complete.

## 1.0.0 (2026-11-22)

- The first version.
`)
})

test('what is under "Unreleased" becomes a part of the release', () => {
  const text = '# Changelog\n\n## Unreleased\n\n- One.\n- Two.\n\n## 1.0.0 (2026-11-22)\n\n- The first version.\n'
  expect(addRelease(text, { ...release, changesets: [fixed] })).toBe(
    '# Changelog\n\n## 1.1.0 (2026-11-25)\n\n- A list is complete.\n\n- One.\n- Two.\n\n## 1.0.0 (2026-11-22)\n\n- The first version.\n',
  )
})

test('the first release has what is under "Unreleased"', () => {
  const text = '# Changelog\n\n## Unreleased\n\n- The first version.\n'
  expect(addRelease(text, { ...release, changesets: [] })).toBe(
    '# Changelog\n\n## 1.1.0 (2026-11-25)\n\n- The first version.\n',
  )
})

test('a release without changes adds nothing', () => {
  const text = '# Changelog\n\n## 1.0.0 (2026-11-22)\n\n- The first version.\n'
  expect(addRelease(text, { ...release, changesets: [] })).toBe(text)
})
