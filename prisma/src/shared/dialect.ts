/** How the SQL of an engine differs. */
export interface Dialect {
  /** Writes the parameter at a position, from 1 on. */
  parameter(position: number): string
  /** Reads the time of a column, in milliseconds since 1970; NULL if it is not one. */
  readTime(column: string): string
}
