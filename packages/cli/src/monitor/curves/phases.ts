import type { StepPart, StepParts } from '@acc/records';

/** A part of a step, as a column of the table of ranks. */
export interface Phase {
  readonly id: StepPart;
  readonly title: string;
  readonly about: string;
}

/** In the order of columns. */
export const PHASES: readonly Phase[] = [
  { id: 'loader', title: 'Data', about: 'the loop waits for a batch' },
  { id: 'forward', title: 'Forward', about: 'forward passes' },
  { id: 'backward', title: 'Backward', about: 'backward passes' },
  { id: 'replay', title: 'Compiled', about: 'replays of compiled steps' },
  { id: 'waiting', title: 'Waiting', about: 'for other ranks, in collectives and for gradients' },
  { id: 'optimizer', title: 'Optimizer', about: 'the update of weights' },
  { id: 'saves', title: 'Saves', about: 'the loop waits for a checkpoint' },
  { id: 'evaluation', title: 'Evaluation', about: 'predictions of prepared models' },
  { id: 'loop', title: 'Own code', about: 'the rest: code of the loop between the parts' },
];

/** Milliseconds of each phase, and of the whole step. */
export type PhaseTimes = StepParts & { readonly step: number };
