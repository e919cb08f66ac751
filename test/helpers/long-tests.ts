/** Whether tests that take minutes run completely; otherwise they run in part. */
export const isLong = process.env['PLANT_STORE_LONG_TESTS'] === '1'
