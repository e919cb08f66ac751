/** A plant as a caller means it. */
export interface ModelPlant {
  id: bigint
  name: string
  tag: string | undefined
}

/** The plants of one account by the rules of the contract, in memory: what the server has to agree with. */
export interface PlantModel {
  /** The plants in order of creation. */
  readonly plants: readonly ModelPlant[]
  /** Whether the account has the plant now: not where it has another one with this id. */
  create(plant: ModelPlant): boolean
}

/** Makes the model of an account without plants. */
export function createPlantModel(): PlantModel {
  const plants: ModelPlant[] = []
  const byId = new Map<bigint, ModelPlant>()
  return {
    plants,
    create(plant) {
      const stored = byId.get(plant.id)
      if (stored) return stored.name === plant.name && stored.tag === plant.tag
      byId.set(plant.id, plant)
      plants.push(plant)
      return true
    },
  }
}

/** A plant as it is answered. */
export function answered({ name, tag }: ModelPlant): { name: string; tag?: string } {
  return tag === undefined ? { name } : { name, tag }
}
