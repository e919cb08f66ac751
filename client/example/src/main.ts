import { readFile } from 'node:fs/promises'
import { ApiError, createPlantStoreClient, type NewPlant, type Plant } from '@plant-store/client'

const { PLANT_STORE_URL: baseUrl, PLANT_STORE_TOKEN: token } = process.env
if (!baseUrl || !token) {
  console.error(
    'Set the environment variables PLANT_STORE_URL and PLANT_STORE_TOKEN. README.md shows how to create a token.',
  )
  process.exit(2)
}

try {
  const client = createPlantStoreClient({ baseUrl, token })
  const plants = await readPlants()

  // Lists have no ids, so plants of another origin could not be distinguished. Checked before adding anything.
  const before = await client.getPlants()
  const foreign = firstDifference(plants.slice(0, before.length), before)
  if (foreign) throw new Error(`This account has other plants. Use a token of a new account.\n${foreign}`)

  // One at a time, because plants are listed in order of creation.
  for (const plant of plants) await client.createPlant(plant)

  const listed = await client.getPlants()
  const paged: Plant[] = []
  for await (const plant of client.iterate.getPlants({ limit: 50 })) paged.push(plant)

  const difference = firstDifference(plants, listed) ?? firstDifference(plants, paged)
  if (difference) throw new Error(difference)
  console.log(`${plants.length} plants added, ${listed.length} listed, identical`)
} catch (error) {
  // The message of an ApiError has its status and code; the request id finds it in the server logs.
  console.error(error instanceof ApiError ? `${error.message} (request ${error.requestId})` : String(error))
  process.exitCode = 1
}

/** Reads the plants. Their ids are text, because JSON.parse would round 9007199254740993 to 9007199254740992. */
async function readPlants(): Promise<NewPlant[]> {
  return JSON.parse(await readFile(new URL('../plants.json', import.meta.url), 'utf8'))
}

function firstDifference(sent: NewPlant[], listed: Plant[]): string | undefined {
  for (let i = 0; i < Math.max(sent.length, listed.length); i++) {
    const [a, b] = [sent[i], listed[i]]
    if (a?.name === b?.name && a?.tag === b?.tag) continue
    return `Plant ${i + 1} differs.\n  sent:   ${describe(a)}\n  listed: ${describe(b)}`
  }
  return undefined
}

/** Describes a plant with its code points, because names that look the same can differ: é and e + U+0301. */
function describe(plant: Plant | undefined): string {
  if (!plant) return 'nothing'
  const { name, tag } = plant
  const codePoints = Array.from(name + (tag ?? ''), (character) => character.codePointAt(0)?.toString(16))
  return `${JSON.stringify({ name, tag })} (${codePoints.join(' ')})`
}
