import { cp } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { type Consumer, installPackage } from '../../../test/helpers/packed-package.ts'

export { type Consumer, run } from '../../../test/helpers/packed-package.ts'

const client = fileURLToPath(new URL('../..', import.meta.url))
const consumerFiles = fileURLToPath(new URL('../consumer', import.meta.url))

/** Packs the SDK, and installs it in an app with the files of `test/consumer`. */
export async function createConsumer(): Promise<Consumer> {
  const consumer = await installPackage(client)
  await cp(consumerFiles, consumer.folder, { recursive: true })
  return consumer
}
