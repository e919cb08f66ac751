import fc from 'fast-check'

/** Any code point that a text of the service may have. fast-check's own `binary` takes seconds to start. */
export const codePoint = fc
  .oneof(fc.integer({ min: 1, max: 0xd7ff }), fc.integer({ min: 0xe000, max: 0x10ffff }))
  .map((code) => String.fromCodePoint(code))
