/** How far a copy is. */
export interface CopyProgress {
  readonly phase: 'comparing' | 'copying' | 'verifying'
  /** How many plants this phase has handled. */
  readonly plants: number
  /** How much of all plants are handled, from 0 to 1. */
  readonly fraction: number
  /** The fraction at which this phase began: a copy may continue an earlier one. */
  readonly begin: number
}

/** Reports how many plants a phase has handled, and the `seq` of the last one. */
export type ReportPlants = (plants: number, seq: number) => void

/**
 * Creates the progress of a phase. It measures by `seq`, since counting the plants of a large database takes long.
 *
 * @param lastSeq the `seq` where the phase ends
 * @param firstSeq the `seq` after which it begins
 */
export function createProgress(
  phase: CopyProgress['phase'],
  lastSeq: number,
  onProgress: (progress: CopyProgress) => void,
  firstSeq: number = 0,
): ReportPlants {
  const fractionOf = (seq: number) => Math.min(1, Math.max(0, seq / Math.max(1, lastSeq)))
  const begin = fractionOf(firstSeq)
  return (plants, seq) => onProgress({ phase, plants, fraction: fractionOf(seq), begin })
}
