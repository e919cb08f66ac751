import { expectTypeOf } from 'vitest'
import type { ErrorBody, ErrorCode, NewPlant, Plant, ValidNewPlant } from '../src/index.ts'

expectTypeOf<Plant>().toEqualTypeOf<{ name: string; tag?: string | undefined }>()
expectTypeOf<NewPlant>().toEqualTypeOf<{ id: number | bigint; name: string; tag?: string | undefined }>()
expectTypeOf<ValidNewPlant['id']>().toEqualTypeOf<bigint>()
expectTypeOf<ErrorBody>().toEqualTypeOf<{ error: number; message: string }>()

// @ts-expect-error: a Plant has no id
;({ name: 'Ficus', id: 1 }) satisfies Plant
// @ts-expect-error: name is required
;({ id: 1 }) satisfies NewPlant
// @ts-expect-error: id is required
;({ name: 'Ficus' }) satisfies NewPlant
// @ts-expect-error: an id is not text
;({ id: '1', name: 'Ficus' }) satisfies NewPlant
// @ts-expect-error: a tag is text or absent, never null
;({ id: 1, name: 'Ficus', tag: null }) satisfies NewPlant
// @ts-expect-error: 40099 is not in the error catalogue
40099 satisfies ErrorCode
