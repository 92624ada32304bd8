import type { SampleRow, StepRow } from '@acc/records';

/** The x axis of a curve: the number of the optimizer step, or seconds since the run began. */
export type Axis = 'step' | 'seconds';

interface About {
  readonly id: string;
  readonly title: string;
  /** `B`: written as MB or GB. */
  readonly unit: string;
  readonly about: string;
  /** Whether ranks differ. Else the curve is that of the first rank. */
  readonly isPerRank?: boolean;
}

/** Undefined: the figure is not known in this row. NaN: it is known not to be finite. */
interface StepCurve extends About {
  readonly axis: 'step';
  readonly of: (row: StepRow) => number | undefined;
}

interface SampleCurve extends About {
  readonly axis: 'seconds';
  readonly of: (row: SampleRow, before: SampleRow | undefined) => number | undefined;
}

export type Curve = StepCurve | SampleCurve;

const known = (value: number): number | undefined => (Number.isNaN(value) ? undefined : value);
/** Records have NaN for an unknown figure, and a column that says whether one of them is not finite. */
const learning = (value: number, row: StepRow): number | undefined =>
  row.nonFinite === 1 ? value : known(value);

export const STEP_CURVES: readonly StepCurve[] = [
  {
    ...{ id: 'loss', axis: 'step', title: 'Loss', unit: '' },
    about: 'the mean of all ranks since the figure before',
    of: (row) => learning(row.loss, row),
  },
  {
    ...{ id: 'stepMs', axis: 'step', title: 'Step time', unit: 'ms', isPerRank: true },
    about: 'from the end of one step to the end of the next',
    of: ({ start, end }) => end - start,
  },
  {
    ...{ id: 'samplesPerSecond', axis: 'step', title: 'Samples per second', unit: '/s' },
    about: 'samples of all ranks',
    of: ({ samples, start, end }) => (end > start ? known((1000 * samples) / (end - start)) : undefined),
  },
  {
    ...{ id: 'gradNorm', axis: 'step', title: 'Gradient norm', unit: '' },
    about: 'of the step, before clipping',
    of: (row) => learning(row.gradNorm, row),
  },
  {
    ...{ id: 'learningRate', axis: 'step', title: 'Learning rate', unit: '' },
    about: 'of the optimizer',
    of: ({ learningRate }) => known(learningRate),
  },
  {
    ...{ id: 'tensorBytes', axis: 'step', title: 'Memory of tensors', unit: 'B', isPerRank: true },
    about: 'allocated at the end of the step',
    of: ({ allocatedBytes }) => known(allocatedBytes),
  },
];

/** The processor time is counted in steps of up to 10 ms, so its share of a shorter time is not known. */
const SHORTEST_MS = 100;

export const SAMPLE_CURVES: readonly SampleCurve[] = [
  {
    ...{ id: 'rssBytes', axis: 'seconds', title: 'Memory of the process', unit: 'B', isPerRank: true },
    about: 'resident in RAM',
    of: ({ rssBytes }) => known(rssBytes),
  },
  {
    ...{ id: 'cpuPercent', axis: 'seconds', title: 'CPU', unit: '%', isPerRank: true },
    about: 'of the process; 100 % is one core',
    // The counter begins again in another process. The last sample may come soon after the one before.
    of: ({ cpuMs, time }, before) =>
      before && time - before.time >= SHORTEST_MS && cpuMs >= before.cpuMs
        ? (100 * (cpuMs - before.cpuMs)) / (time - before.time)
        : undefined,
  },
];

export const CURVES: readonly Curve[] = [...STEP_CURVES, ...SAMPLE_CURVES];
