import { isatty } from 'node:tty'
import { STANDARD_ERROR } from '../telemetry/log/log-output.ts'
import { tryToWrite } from './console.ts'

/** How often the line of a terminal is replaced, and how often there is one without a terminal, in milliseconds. */
const INTERVALS = { terminal: 100, file: 5_000 }
const SECOND = 1_000
const MINUTE = 60

/** How far something is that takes long. */
export interface Progress {
  /** What is done: `copying`. */
  phase: string
  /** How much is done: `600 MB`. */
  done?: string
  /** How much of all is done, from 0 to 1; undefined if that is unknown. */
  fraction?: number | undefined
}

/** Where to show progress. */
export interface ProgressOptions {
  /** The file descriptor of standard error. */
  errors?: number
  /** Whether a line replaces the one before. */
  isTerminal?: boolean
  /** Default: writes to standard error; what cannot be written is dropped, for example when the terminal is closed. */
  write?: (text: string) => void
}

/** Runs what takes long, and shows on standard error how far it is and how long the rest of its phase takes. */
export async function withProgress<Result>(
  run: (show: (progress: Progress) => void) => Promise<Result>,
  {
    errors = STANDARD_ERROR,
    isTerminal = isatty(errors),
    write = (text) => void tryToWrite(errors, text),
  }: ProgressOptions = {},
): Promise<Result> {
  let progress: Progress | undefined
  let first: { time: number; progress: Progress } | undefined
  let isShown = false
  function show(latest: Progress): void {
    progress = latest
    if (first?.progress.phase !== latest.phase) first = { time: performance.now(), progress: latest }
  }

  function draw(): void {
    if (!progress || !first) return
    const line = describe(progress, first.progress, (performance.now() - first.time) / SECOND)
    write(isTerminal ? `\r${line}\x1b[K` : `plant-store: ${line}\n`)
    isShown = true
  }

  const timer = setInterval(draw, isTerminal ? INTERVALS.terminal : INTERVALS.file)
  try {
    return await run(show)
  } finally {
    clearInterval(timer)
    if (isTerminal && isShown) write('\r\x1b[K')
  }
}

/** @param seconds the time since the first report of this phase */
function describe({ phase, done, fraction }: Progress, first: Progress, seconds: number): string {
  if (fraction === undefined) return `${phase}: ${formatSeconds(seconds)}`
  const left = ((1 - fraction) / (fraction - (first.fraction ?? 0))) * seconds
  const rest = Number.isFinite(left) ? `, ${formatSeconds(left)} left` : ''
  return `${phase} ${Math.floor(fraction * 100)}%: ${done}${rest}`
}

function formatSeconds(seconds: number): string {
  const rounded = Math.round(seconds)
  return rounded < MINUTE ? `${rounded} s` : `${Math.floor(rounded / MINUTE)} min ${rounded % MINUTE} s`
}
