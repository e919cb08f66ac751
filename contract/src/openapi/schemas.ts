import { ContractPlainTypeRuntimeSymbol, isAppRouteOtherResponse } from '@ts-rest/core'
import type * as z from 'zod'
import { type Direction, requireJson } from './json-values.ts'

/**
 * Returns the zod schema at a place of the contract.
 *
 * @throws Error if there is something else, which the OpenAPI document could not describe
 */
export function requireSchema(value: unknown, place: string): z.ZodType {
  if (value === ContractPlainTypeRuntimeSymbol) {
    throw new Error(`${place}: c.type() has no schema at run time; use a zod schema`)
  }
  if (isAppRouteOtherResponse(value as never)) {
    const { contentType } = value as { contentType: string }
    throw new Error(`${place}: has the content type ${contentType}; only JSON is supported, so use a zod schema`)
  }
  if (typeof value !== 'object' || value === null || !('_zod' in value)) {
    throw new Error(`${place}: is not a schema of zod 4; use one`)
  }
  return value as z.ZodType
}

/** Returns the zod schema of a body, which is always there: a body that may be missing says so by `c.noBody()`. */
export function requireBody(value: unknown, place: string, direction: Direction): z.ZodType {
  if (value === null) throw new Error(`${place}: is null; use c.noBody()`)
  const schema = requireSchema(value, place)
  if (schema.def.type === 'undefined' || schema.def.type === 'void') {
    throw new Error(`${place}: z.${schema.def.type}() is not JSON; use c.noBody()`)
  }
  if (isOptional(schema, direction)) throw new Error(`${place}: is optional; make it required, or use c.noBody()`)
  requireJson(schema, place, direction)
  return schema
}

/** Whether a value may be missing. */
export function isOptional(schema: z.core.$ZodType, direction: Direction): boolean {
  return (direction === 'output' ? schema._zod.optout : schema._zod.optin) !== undefined
}
