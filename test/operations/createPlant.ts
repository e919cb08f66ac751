import { type OperationCases, PLANTS } from '../helpers/operations.ts'

export const cases: OperationCases = {
  input: { id: 2, name: 'Aloe', tag: '' },
  requests: [
    [
      'its input',
      'POST /plants',
      '{"id":2,"name":"Aloe","tag":""}',
      { name: 'Aloe', tag: '' },
      { after: [...PLANTS, { id: 2, name: 'Aloe', tag: '' }] },
    ],
    [
      'the same plant again',
      'POST /plants',
      '{"id":9007199254740993,"name":"Ficus","tag":"fig"}',
      { name: 'Ficus', tag: 'fig' },
    ],
    [
      'a field of the query',
      'POST /plants?tag=x',
      '{"id":2,"name":"Aloe"}',
      { name: 'Aloe' },
      { after: [...PLANTS, { id: 2, name: 'Aloe' }] },
    ],
    [
      'an unknown field',
      'POST /plants',
      '{"id":2,"name":"","height":3,"__proto__":{"tag":"x"}}',
      { name: '' },
      { after: [...PLANTS, { id: 2, name: '' }] },
    ],
    [
      'the largest id',
      'POST /plants',
      '{"name":"\\"id\\":9\\"","id":9223372036854775807}',
      { name: '"id":9"' },
      { after: [...PLANTS, { id: 9223372036854775807n, name: '"id":9"' }] },
    ],
    ['an id that is too large', 'POST /plants', '{"id":9223372036854775808,"name":""}', 40002],
    ['an id that is not an integer', 'POST /plants', '{"id":1.5,"name":""}', 40002],
    ['a taken id', 'POST /plants', '{"id":9007199254740993,"name":"Aloe"}', 40003],
    ['a taken id without the tag', 'POST /plants', '{"id":9007199254740993,"name":"Ficus"}', 40003],
    ['wrong types', 'POST /plants', '{"id":"1","name":5,"tag":null}', 40002],
    ['a list instead of a plant', 'POST /plants', '[]', 40002],
  ],
}
