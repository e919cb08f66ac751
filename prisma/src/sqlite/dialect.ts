import type { Dialect } from '../shared/dialect.ts'

export const dialect: Dialect = {
  parameter: () => '?',
  // Prisma writes text with a time zone. By hand, a time may also be a number or `CURRENT_TIMESTAMP`.
  readTime: (column) =>
    `iif(typeof(${column}) = 'integer', ${column}, CAST(round(unixepoch(${column}, 'subsec') * 1000) AS INTEGER))`,
}
