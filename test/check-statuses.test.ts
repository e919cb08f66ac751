import { expect, test } from 'vitest'
import { findUndeclared } from './helpers/server/check-statuses.ts'

const responding = (status: number) => ({ responses: { [status]: { description: 'Success.' } } })
const document = {
  paths: {
    '/beds/{id}': { get: responding(200), delete: responding(204) },
    '/beds/search': { post: responding(200) },
  },
}

test('a status that an operation does not declare is found, also where an earlier path fits with other methods', () => {
  const declared = ['GET /beds/1 200', 'DELETE /beds/1 204', 'POST /beds/search 200', 'GET /beds/search 200']
  const undeclared = ['GET /beds/1 404', 'DELETE /beds/1 200', 'POST /beds/search 201']
  const ofNoOperation = ['PUT /beds/1 405', 'GET /nothing 404']
  expect(findUndeclared([...declared, ...undeclared, ...ofNoOperation], document)).toEqual(undeclared)
})
