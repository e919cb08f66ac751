/** A plant as a client means it. */
export interface ModelPlant {
  id: bigint
  name: string
  tag: string | undefined
}

/** The plants that an account must have by the rules of the contract. */
export interface PlantModel {
  /** The plants in order of creation. */
  readonly plants: readonly ModelPlant[]
  /** Returns whether the account now has the plant; false if it has another one with this id. */
  create(plant: ModelPlant): boolean
}

/** Creates the model of an account without plants. */
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

/** Returns the body of the response to a plant. */
export function toBody({ name, tag }: ModelPlant): { name: string; tag?: string } {
  return tag === undefined ? { name } : { name, tag }
}
