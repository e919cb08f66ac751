import { isatty } from 'node:tty'
import { writeAll } from '../../telemetry/write-all.ts'

const STANDARD_ERROR = 2
/** How often the bar of a terminal is drawn, in milliseconds. */
const DRAW_INTERVAL = 100
/** How often a line is printed without a terminal, in milliseconds. */
const LINE_INTERVAL = 5_000
/** The characters of a full bar. */
const BAR_WIDTH = 24
const SECOND = 1_000
const MINUTE = 60

/** How far something is that takes long. */
export type Progress =
  | MeasuredProgress
  | { /** What is done: `checking`. */ readonly phase: string; readonly fraction?: undefined }

interface MeasuredProgress {
  /** What is done: `copying`. */
  readonly phase: string
  readonly done: number
  readonly unit: 'plants' | 'MB'
  /** How much is done, from 0 to 1, and how much was when the phase began. */
  readonly fraction: number
  readonly begin: number
}

/** Shows progress on standard error. */
export interface ProgressDisplay {
  show(progress: Progress): void
  /** Removes the bar, so that something else can be printed. */
  clear(): void
}

/** Where and when to print. */
export interface ProgressOptions {
  /** Whether to draw a bar that replaces itself; otherwise there is a line every five seconds. */
  isTerminal: boolean
  /** Default: writes to standard error, whose failures are ignored. */
  write?: (text: string) => void
  /** Returns a time in milliseconds. */
  now?: () => number
}

/** Creates a display of progress, with the rate and the time left of each phase. */
export function createProgressDisplay({
  isTerminal,
  write = writeToStandardError,
  now = () => performance.now(),
}: ProgressOptions): ProgressDisplay {
  const interval = isTerminal ? DRAW_INTERVAL : LINE_INTERVAL
  let phase: { name: string; start: number } | undefined
  let reportedAt = now()
  let shownAt = reportedAt
  let isDrawn = false
  return {
    show(progress) {
      const time = now()
      if (phase?.name !== progress.phase) phase = { name: progress.phase, start: reportedAt }
      reportedAt = time
      if (time - shownAt < interval) return
      shownAt = time
      const line = describe(progress, time - phase.start)
      write(isTerminal ? `\r${drawBar(progress)}${line}\x1b[K` : `plant-store: ${line}\n`)
      isDrawn = isTerminal
    },

    clear() {
      if (isDrawn) write('\r\x1b[K')
      isDrawn = false
    },
  }
}

/** Runs what takes long, with a display of its progress. */
export async function withProgress<Result>(run: (show: ProgressDisplay['show']) => Promise<Result>): Promise<Result> {
  const display = createProgressDisplay({ isTerminal: isatty(STANDARD_ERROR) })
  try {
    return await run(display.show)
  } finally {
    display.clear()
  }
}

function drawBar({ fraction }: Progress): string {
  if (fraction === undefined) return ''
  const full = Math.round(fraction * BAR_WIDTH)
  return `[${'#'.repeat(full)}${'-'.repeat(BAR_WIDTH - full)}] `
}

function describe(progress: Progress, elapsed: number): string {
  const seconds = elapsed / SECOND
  if (progress.fraction === undefined) return `${progress.phase}: ${formatSeconds(seconds)}`
  const { phase, done, unit, fraction, begin } = progress
  const percent = Math.floor(fraction * 100)
  const rate = Math.round(done / seconds)
  const left = ((1 - fraction) / (fraction - begin)) * seconds
  const rest = Number.isFinite(left) ? `, ${formatSeconds(left)} left` : ''
  return `${phase} ${percent}%: ${formatNumber(done)} ${unit}, ${formatNumber(rate)} ${unit}/s${rest}`
}

function formatNumber(value: number): string {
  return value.toLocaleString('en-US')
}

function formatSeconds(seconds: number): string {
  const rounded = Math.round(seconds)
  return rounded < MINUTE ? `${rounded} s` : `${Math.floor(rounded / MINUTE)} min ${rounded % MINUTE} s`
}

/** Progress is not worth an error, for example when the terminal is closed. */
function writeToStandardError(text: string): void {
  try {
    writeAll(STANDARD_ERROR, text)
  } catch {
    // The copy goes on.
  }
}
