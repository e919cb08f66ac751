/** Writes the rights on plants that the operations need into the script of an operator: a part of `npm run generate`. */
import { readFileSync, writeFileSync } from 'node:fs'
import { plantRights } from '../src/plants.ts'

const file = new URL('../../docs/production/several-machines/rights.sql', import.meta.url)
const rights = ['SELECT', 'INSERT', ...plantRights].join(', ')
writeFileSync(file, readFileSync(file, 'utf8').replace(/^GRANT .*(?= ON "Plant" )/m, `GRANT ${rights}`))
