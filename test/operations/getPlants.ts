import type { OperationCases } from '../helpers/operations.ts'

const listed = [{ name: 'Ficus', tag: 'fig' }, { name: 'Fern' }]
const plants = [5, 3, 9, 1, 7].map((id) => ({ id, name: `plant ${id}` }))

export const cases: OperationCases = {
  input: { limit: 1 },
  requests: [
    ['its input', 'GET /plants?limit=1', '', listed.slice(0, 1)],
    ['the whole list', 'GET /plants', '', listed],
    ['several plants', 'GET /plants', '', plants.map(({ name }) => ({ name })), { before: plants }],
    ['an unknown parameter', 'GET /plants?height=3', '', listed],
    ['parameters that only look like known ones', 'GET /plants??limit=0&limit[]=0&+limit=0&%25=%2B', '', listed],
    ['two invalid parameters', 'GET /plants?limit=0&cursor=%00', '', 40004],
    ['a cursor that is none', 'GET /plants?cursor=nonsense', '', 40004],
    ['an empty cursor', 'GET /plants?cursor=', '', 40004],
    ['the cursor of another account', 'GET /plants?cursor=<cursor>', '', 40004],
  ],
}
