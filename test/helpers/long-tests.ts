/** Whether the tests that take minutes run whole; otherwise they run in small. */
export const isLong = process.env['PLANT_STORE_LONG_TESTS'] === '1'
