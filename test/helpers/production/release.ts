import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { shell } from './guide.ts'

const [NAME, NEXT] = ['plant-store-1.0.0', 'plant-store-1.1.0']

/** Builds a release in a folder, by the commands of the guide. Returns its archive. */
export async function buildRelease(folder: string, commands: string): Promise<string> {
  await shell(
    commands
      .replace(`deploy -- ${NAME}`, `deploy -- ${folder}/${NAME}`)
      .replace(`docs/production ${NAME}`, `docs/production ${folder}/${NAME}`)
      .replace('tar ', `cd ${folder} && tar `),
  )
  return path.join(folder, `${NAME}.tar.gz`)
}

/** Makes a release that differs from the one in the folder only in its version, `next`. Returns its archive. */
export async function buildNextRelease(folder: string): Promise<string> {
  const manifest = path.join(folder, NAME, 'package.json')
  writeFileSync(manifest, JSON.stringify({ ...JSON.parse(readFileSync(manifest, 'utf8')), version: 'next' }))
  await shell(`cd ${folder} && mv ${NAME} ${NEXT} && tar --create --owner=0 --group=0 --file=${NEXT}.tar.gz ${NEXT}`)
  return path.join(folder, `${NEXT}.tar.gz`)
}
