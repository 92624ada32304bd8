import { AccError, counted } from '@acc/contract';
import type { ScalingKind, StudyRun } from './study.js';

/** The steps that must be left of a run after the first ones. */
const MIN_STEPS = 20;

/**
 * @throws AccError `ACC_STUDY_RECORDS` if records of a rank are missing, a run has too few steps, or the samples
 * of a step are not known.
 */
export function checkRun({ ranks, times }: StudyRun): void {
  const run = `The run on ${counted(ranks, 'rank')}`;
  if (times.ranks.length < ranks)
    throw new AccError(
      'ACC_STUDY_RECORDS',
      `${run} has records of ${counted(times.ranks.length, 'rank')} only.`,
      {
        help: 'Call initTrackers on all ranks. A full disk also ends records.',
        details: { ranks, recorded: times.ranks },
      },
    );
  if (times.steps < MIN_STEPS)
    throw new AccError(
      'ACC_STUDY_RECORDS',
      `${run} has ${times.steps} steps that count; a study needs ${MIN_STEPS}.`,
      {
        help: 'Let the program train longer. Up to 10 first steps do not count, because they choose kernels and allocate memory.',
        details: { ranks, steps: times.steps },
      },
    );
  if (!(times.samplesPerSecond > 0))
    throw new AccError('ACC_STUDY_RECORDS', `${run} does not say how many samples a step has.`, {
      help: 'Samples are counted in data that accelerator.prepare has returned.',
      details: { ranks },
    });
}

/**
 * Checks by the recorded samples that each run was weak or strong, as asked. Parts of a batch may be
 * rounded.
 *
 * @throws AccError `ACC_STUDY_BATCH`.
 */
export function checkBatches(kind: ScalingKind, runs: readonly StudyRun[]): void {
  const base = runs.reduce((fewest, run) => (run.ranks < fewest.ranks ? run : fewest));
  const perRank = (run: StudyRun) => run.times.samples / run.ranks;
  for (const run of runs) {
    const isAsAsked =
      kind === 'weak'
        ? Math.abs(perRank(run) - perRank(base)) < 1
        : base.times.samples >= run.ranks && Math.abs(run.times.samples - base.times.samples) < run.ranks;
    if (!isAsAsked) throw wrongBatch(kind, run, base);
  }
}

function wrongBatch(kind: ScalingKind, run: StudyRun, base: StudyRun): AccError {
  const expected = kind === 'weak' ? (base.times.samples * run.ranks) / base.ranks : base.times.samples;
  return new AccError(
    'ACC_STUDY_BATCH',
    `A step has ${counted(base.times.samples, 'sample')} on ${counted(base.ranks, 'rank')} and ${run.times.samples} on ${run.ranks}; --${kind} needs ${expected} on ${run.ranks}.`,
    {
      help:
        kind === 'weak'
          ? 'Give each rank the same batch, whatever their number. For one batch of all ranks together: --strong.'
          : 'Let prepare share out the batches, so that dataLoader.splitBatches takes effect. For the same batch on each rank: --weak.',
      details: { kind, ranks: run.ranks, samples: run.times.samples, expected },
    },
  );
}
