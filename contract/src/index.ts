export {
  type Contract,
  contract,
  type OperationMetadata,
  type Scope,
  ScopeSchema,
} from './contract.ts'
export {
  type ErrorBody,
  type ErrorCode,
  type ErrorName,
  ErrorSchema,
  errorCatalogue,
  errorMessages,
  statusOf,
} from './errors.ts'
export {
  Int64Schema,
  Int64TextSchema,
  type NewPlant,
  NewPlantSchema,
  type Plant,
  PlantSchema,
  TextSchema,
  type ValidNewPlant,
} from './plants.ts'
