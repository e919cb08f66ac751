// The same package, as CommonJS.
import client = require('@plant-store/client')
import testing = require('@plant-store/client/testing')

export const sdk: client.PlantStoreClient = client.createPlantStoreClient(testing.createFakePlantStore())
export const plant: Promise<client.Plant> = sdk.createPlant({ id: 1n, name: 'Ficus' })
export const isTaken = (error: unknown) => error instanceof client.ApiError && error.code === client.errorCodes.idTaken
