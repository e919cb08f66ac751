import { randomBytes } from 'node:crypto'

const SECRET_BYTES = 32

/** The part of the Prisma Clients that reads and writes secrets: each engine has its own client. */
interface Secrets {
  readonly secret: {
    findUnique(args: { where: { name: string } }): PromiseLike<{ value: string } | null>
    create(args: { data: { name: string; value: string } }): PromiseLike<unknown>
  }
}

/** Reads a secret, creating it at its first use. Servers that create it at the same time all get the one stored first. */
export async function readSecret({ secret: table }: Secrets, name: string): Promise<Buffer> {
  const where = { name }
  const existing = await table.findUnique({ where })
  if (existing) return decode(existing)
  try {
    await table.create({ data: { name, value: randomBytes(SECRET_BYTES).toString('hex') } })
  } catch (error) {
    const stored = await table.findUnique({ where })
    if (stored) return decode(stored)
    throw error
  }
  return readSecret({ secret: table }, name)
}

function decode({ value }: { value: string }): Buffer {
  return Buffer.from(value, 'hex')
}
