import type { StepRow } from '@acc/records';

/** A part of a step, as a column of the table of ranks. */
export interface Phase {
  readonly id: string;
  readonly title: string;
  readonly about: string;
  readonly of: (row: StepRow) => number;
}

/** Older records lack columns. */
const ifKnown = (value: number | undefined): number => (value !== undefined && value >= 0 ? value : 0);
const whole = ({ start, end }: StepRow): number => end - start;
/** Hooks of a replay measure the optimizer and the wait for gradients, which are parts of it. */
const replayed = ({ replay, optimizer, exposed }: StepRow): number =>
  Math.max(0, ifKnown(replay) - optimizer - exposed);

/** Parts that do not overlap. With {@link OWN_CODE} they are the whole step. */
const MEASURED: readonly Phase[] = [
  {
    ...{ id: 'loader', title: 'Data', about: 'the loop waits for a batch' },
    of: ({ loader }) => ifKnown(loader),
  },
  { id: 'forward', title: 'Forward', about: 'forward passes', of: ({ forward }) => forward },
  { id: 'backward', title: 'Backward', about: 'backward passes', of: ({ backward }) => backward },
  { id: 'replay', title: 'Compiled', about: 'replays of compiled steps', of: replayed },
  {
    ...{ id: 'exposed', title: 'Waiting', about: 'for gradients of other ranks, after the backward pass' },
    of: ({ exposed }) => exposed,
  },
  { id: 'optimizer', title: 'Optimizer', about: 'the update of weights', of: ({ optimizer }) => optimizer },
  {
    ...{ id: 'saves', title: 'Saves', about: 'the loop waits for a checkpoint' },
    of: ({ saves }) => ifKnown(saves),
  },
];

const OWN_CODE: Phase = {
  ...{ id: 'loop', title: 'Own code', about: 'the rest: code of the loop between the parts' },
  of: (row) => Math.max(0, whole(row) - MEASURED.reduce((sum, { of }) => sum + of(row), 0)),
};

export const PHASES: readonly Phase[] = [...MEASURED, OWN_CODE];

/** Milliseconds by the id of a phase, and `step`. */
export type PhaseTimes = Readonly<Record<string, number>>;

/** The mean time of each phase, and of the whole step. Undefined without steps. */
export function phaseTimes(rows: readonly StepRow[]): PhaseTimes | undefined {
  if (rows.length === 0) return undefined;
  const mean = (of: (row: StepRow) => number) => rows.reduce((sum, row) => sum + of(row), 0) / rows.length;
  return { step: mean(whole), ...Object.fromEntries(PHASES.map(({ id, of }) => [id, mean(of)])) };
}
