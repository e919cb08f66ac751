/** Whether tests that take minutes run in full; otherwise they are shortened or skipped. */
export const isLong = process.env['PLANT_STORE_LONG_TESTS'] === '1'
