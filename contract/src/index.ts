export * from './contract.ts'
export * from './errors.ts'
export * from './plants.ts'
