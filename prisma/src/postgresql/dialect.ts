import type { Dialect } from '../shared/dialect.ts'

export const dialect: Dialect = {
  parameter: (position) => `$${position}`,
  readTime: (column) => `round(date_part('epoch', ${column}) * 1000)`,
}
