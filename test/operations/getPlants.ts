import { FICUS, type OperationCases } from '../helpers/operations.ts'

const { id: _, ...listed } = FICUS

export const cases: OperationCases = {
  input: { limit: 1 },
  response: [listed],
  requests: [
    ['the whole list', 'GET /plants', '', [listed]],
    ['an unknown parameter', 'GET /plants?height=3', '', [listed]],
    ['two invalid parameters', 'GET /plants?limit=0&cursor=a&cursor=b', '', 40004],
    [
      'repeated parameters',
      'GET /plants?limit=1&limit=2&cursor=a&cursor=b',
      '',
      { error: 40004, message: 'limit: must appear only once; cursor: must appear only once' },
    ],
    ['a cursor that is none', 'GET /plants?cursor=nonsense', '', 40004],
    ['an empty cursor', 'GET /plants?cursor=', '', 40004],
    ['the cursor of another account', 'GET /plants?cursor=<cursor>', '', 40004],
  ],
}
