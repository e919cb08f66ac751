import { expect, test } from 'vitest'
import { nextPage } from '../../src/plants/plants-router.ts'

test('the link to the next page has every parameter of this one, and the new cursor', () => {
  const query = { limit: 2, cursor: 'new', tag: ['a b', '>"&=ü'], available: true, since: undefined, none: [] }
  const [, target = ''] = /^<([!-~]+)>; rel="next"$/.exec(nextPage('https://plants.example.com/plants', query)) ?? []
  const { origin, pathname, searchParams } = new URL(target)
  expect([origin, pathname]).toEqual(['https://plants.example.com', '/plants'])
  expect([...searchParams]).toEqual([
    ['limit', '2'],
    ['cursor', 'new'],
    ['tag', 'a b'],
    ['tag', '>"&=ü'],
    ['available', 'true'],
  ])
})

test('without a target the link is relative', () => {
  expect(nextPage('', { limit: 1, cursor: 'a' })).toBe('<?limit=1&cursor=a>; rel="next"')
})
