import { expectTypeOf } from 'vitest'
import type { ErrorBody, ErrorCode, NewPlant, Plant, ValidNewPlant } from '../src/contract.ts'

expectTypeOf<Plant>().toEqualTypeOf<{ name: string; tag?: string | undefined }>()
expectTypeOf<NewPlant>().toEqualTypeOf<{ id: number | bigint; name: string; tag?: string | undefined }>()
expectTypeOf<ValidNewPlant['id']>().toEqualTypeOf<bigint>()
expectTypeOf<ErrorBody>().toEqualTypeOf<{ error: number; message: string }>()

// @ts-expect-error: 40099 is not in the error catalogue
40099 satisfies ErrorCode
