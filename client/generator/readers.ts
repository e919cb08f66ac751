import { type Components, resolve } from './description.ts'
import { reject, type Schema } from './schema.ts'
import { propertyName } from './typescript.ts'

/** The integers of a value: what a reader must know to read each int64 exactly, and no other number. */
type Integers = 'int64' | 'number' | { readonly items: Integers } | { readonly fields: ReadonlyMap<string, Integers> }

/** The name that stands for every field of a record. */
const EVERY_FIELD = '*'

/** Generates the reader of a response. The service's own form is checked on the outside only, since it may grow. */
export function generateReader(schema: Schema | undefined, components: Components, place: string): string {
  if (!schema) return 'readNothing'
  const { kind } = resolve(schema, components)
  const reader = kind === 'list' ? 'readList' : kind === 'object' || kind === 'record' ? 'readObject' : 'readAny'
  const integers = findIntegers(schema, components, place)
  const places = integers && writePlaces(integers)
  return places ? `${reader}(exactly(${places}))` : `${reader}()`
}

function findIntegers(schema: Schema, components: Components, place: string): Integers | undefined {
  const target = resolve(schema, components)
  switch (target.kind) {
    case 'int64':
      return 'int64'
    case 'integer':
    case 'number':
      return 'number'
    case 'literal':
      return target.values.some((value) => typeof value === 'number') ? 'number' : undefined
    case 'list': {
      const items = findIntegers(target.items, components, `${place}[]`)
      return items && { items }
    }
    case 'record':
      return findFields([[EVERY_FIELD, target.values]], components, place)
    case 'object':
      return findFields(
        target.fields.map((field) => [field.name, field.schema]),
        components,
        place,
      )
    case 'union':
      return target.members
        .map((member) => findIntegers(member, components, place))
        .reduce((one, other) => merge(one, other, place), undefined)
    default:
      return undefined
  }
}

function findFields(fields: readonly [string, Schema][], components: Components, place: string): Integers | undefined {
  const found = fields.flatMap(([name, schema]): [string, Integers][] => {
    const integers = findIntegers(schema, components, `${place}.${name}`)
    return integers ? [[name, integers]] : []
  })
  return found.length > 0 ? { fields: new Map(found) } : undefined
}

/** Merges the alternatives of a union, which the reader cannot tell apart. */
function merge(one: Integers | undefined, other: Integers | undefined, place: string): Integers | undefined {
  if (!one || !other) return one ?? other
  if (one === other) return one
  if (typeof one === 'object' && typeof other === 'object') {
    if ('items' in one && 'items' in other) return { items: merge(one.items, other.items, `${place}[]`) ?? one.items }
    if ('fields' in one && 'fields' in other) return { fields: mergeFields(one.fields, other.fields, place) }
  }
  if (!hasInt64(one) && !hasInt64(other)) return 'number'
  return reject(
    place,
    'one alternative of a union has an int64 where another has something else with numbers; use one form',
  )
}

function mergeFields(one: ReadonlyMap<string, Integers>, other: ReadonlyMap<string, Integers>, place: string) {
  const names = new Set([...one.keys(), ...other.keys()])
  return new Map(
    [...names].flatMap((name): [string, Integers][] => {
      // Every field of a record may also be a field of this name.
      const merged = merge(
        one.get(name) ?? one.get(EVERY_FIELD),
        other.get(name) ?? other.get(EVERY_FIELD),
        `${place}.${name}`,
      )
      return merged ? [[name, merged]] : []
    }),
  )
}

function hasInt64(integers: Integers): boolean {
  if (typeof integers === 'string') return integers === 'int64'
  return 'items' in integers ? hasInt64(integers.items) : [...integers.fields.values()].some(hasInt64)
}

function writePlaces(integers: Integers): string | undefined {
  if (!hasInt64(integers)) return undefined
  if (typeof integers === 'string') return `'${integers}'`
  if ('items' in integers) return `[${writePlaces(integers.items)}]`
  const fields = [...integers.fields].flatMap(([name, field]) => {
    const places = writePlaces(field)
    return places ? `${propertyName(name)}: ${places}` : []
  })
  return `{ ${fields.join(', ')} }`
}
