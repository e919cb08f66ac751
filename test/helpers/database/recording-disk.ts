/** Records what processes do to files, and makes of it what a power failure may leave of them. */
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { temporaryFolder } from '../temporary.ts'
import { compileLibrary } from './disks.ts'

const { library, whyNot } = compileLibrary('recording-disk')
/** Why nothing can be recorded here, in a line; undefined if it can. */
export const whyNoRecording = whyNot

/**
 * One call of a process: a `w`rite, a change of size (`t`), a `s`ync of a file or of a folder (`d`), or of a name: `c`reated,
 * `r`enamed, `l`inked, `u`nlinked, a folder that was `m`ade.
 */
interface Call {
  readonly kind: 'w' | 't' | 's' | 'd' | 'c' | 'r' | 'l' | 'u' | 'm'
  /** Where it is in the recording, in bytes. */
  readonly position: number
  /** The file: its inode, and where in the recording it was created, since numbers of inodes are used again. */
  readonly file: string
  /** The offset of a write, a size, or where the recording was when a sync began. */
  readonly number: number
  /** What was written, or the paths. */
  readonly data: Buffer
}

/** Records what processes do below a folder. */
export function recordDisk(folder: string) {
  const recording = path.join(temporaryFolder(), 'recording')
  let calls: Call[] | undefined
  return {
    /** For the processes. */
    environment: { LD_PRELOAD: library, RECORDED_FOLDER: folder, RECORDING: recording },
    /** How much was recorded so far, in bytes: what has happened by now is before it. */
    position: () => (existsSync(recording) ? statSync(recording).size : 0),
    /**
     * Writes into an empty folder what a power failure leaves, which happens at a position. Of what was not synced, a random
     * number between 0 and 1 decides about each call.
     */
    leave(copy: string, until: number, random: () => number): void {
      calls ??= readCalls(readFileSync(recording))
      const before = calls.filter(({ position }) => position < until)
      const left = fail(before, random)
      for (const [name, content] of left) {
        const target = path.join(copy, path.relative(folder, name))
        if (content === undefined) mkdirSync(target, { recursive: true })
        else if (existsSync(path.dirname(target))) writeFileSync(target, content)
      }
    },
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: it begins each call.
const HEAD = /^\x01RECORD (\w) (\d+) (-?\d+) (\d+)$/

function readCalls(recording: Buffer): Call[] {
  const calls: Call[] = []
  const files = new Map<string, string>()
  for (let position = recording.indexOf('\x01RECORD '); position >= 0; ) {
    const end = recording.indexOf('\n', position)
    const [, kind, inode = '', number, length] = HEAD.exec(recording.toString('latin1', position, end)) ?? []
    const next = end + 1 + Number(length)
    // A process was killed while it recorded a call that it then did not make.
    const isWhole = kind !== undefined && (next === recording.length || recording[next] === 1)
    if (isWhole) {
      if (kind === 'c') files.set(inode, `${inode} ${position}`)
      const file = files.get(inode) ?? ''
      calls.push({
        kind: kind as Call['kind'],
        position,
        file,
        number: Number(number),
        data: recording.subarray(end + 1, next),
      })
    }
    position = isWhole ? (next < recording.length ? next : -1) : recording.indexOf('\x01RECORD ', position + 1)
  }
  return calls
}

/** A file of the disk. */
interface File {
  content: Buffer
  size: number
}

/** Returns the files that are left, with their content; undefined: a folder. */
function fail(calls: readonly Call[], random: () => number): Map<string, Buffer | undefined> {
  const synced = new Map<string, number>()
  for (const { kind, file, number, data } of calls) {
    if (kind === 's') synced.set(file, number)
    if (kind === 'd') synced.set(data.toString(), number)
  }
  const isSynced = (key: string, { position }: Call) => position < (synced.get(key) ?? 0)
  // A disk may have written nearly all of the rest, or nearly nothing.
  const share = random() < 0.5 ? Math.round(random()) : random()

  const files = new Map<string, File>()
  const names = new Map<string, File | undefined>()
  /** The folders whose later names are lost too. */
  const lost = new Set<string>()
  for (const call of calls) {
    const { kind, file, number, data } = call
    if (kind === 'c') files.set(file, { content: Buffer.alloc(0), size: 0 })
    const changed = files.get(file)
    if (changed && /[wt]/.test(kind) && (isSynced(file, call) || random() < share)) {
      const end = number + data.length
      if (kind === 't' || end > changed.size) resize(changed, end)
      data.copy(changed.content, number)
    }
    if (!/[crlum]/.test(kind)) continue
    const [one = '', other = one] = data.toString().split('\0')
    const folder = path.dirname(other)
    const isKept = isSynced(folder, call) || (!lost.has(folder) && random() < share)
    if (!isKept) {
      lost.add(folder)
      continue
    }
    if (kind === 'c' || kind === 'm') names.set(one, changed)
    if (kind === 'r' || kind === 'l') names.set(other, names.get(one))
    if (kind === 'r' || kind === 'u') names.delete(one)
  }
  return new Map([...names].map(([name, file]) => [name, file?.content.subarray(0, file.size)]))
}

function resize(file: File, size: number): void {
  if (size < file.size) file.content.fill(0, size)
  if (size > file.content.length)
    file.content = Buffer.concat([file.content, Buffer.alloc(2 * size - file.content.length)])
  file.size = size
}
