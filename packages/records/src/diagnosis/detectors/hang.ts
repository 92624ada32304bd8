import type { Detector } from '../finding.js';
import type { Run } from '../run.js';
import { max, min } from '../statistics.js';

/** Below this time, a rank may be busy: it saves weights, or evaluates. */
const LEAST_SECONDS = 10;
const LEAST_STEPS = 20;
const CRITICAL_SECONDS = 60;
/** A collective that fails ends a little before its rank does. */
const ENDING_SECONDS = 5;

interface Standstill {
  /** The time since the rank last began a collective. */
  readonly seconds: number;
  readonly collectives: number;
  readonly isInCollective: boolean;
}

/** Ranks wait in a collective that others do not call. */
export const hang: Detector = {
  id: 'hang',
  needs: { ranks: 2, minSteps: 1 },
  find(run) {
    // Not a need: a run may hang before there are two samples of its steps.
    const lasts = run.numbers.map((_, i) => run.lastSample(i));
    const last = lasts.find((row) => !(row?.collectives !== undefined && row.isInCollective >= 0));
    if (lasts.includes(undefined)) return 'no sample of each process';
    if (last) return `no column ${last.collectives === undefined ? 'collectives' : 'isInCollective'}`;
    // The records of a rank that has ended are shorter.
    const until = max(lasts.map((row) => row!.time));
    const still = run.numbers.map((_, i) => standstillOf(run, i, until));
    const seconds = min(still.map((each) => each.seconds));
    const limit = Math.max(LEAST_SECONDS, (LEAST_STEPS * run.stepMs) / 1000);
    if (seconds < limit || !still.some(({ isInCollective }) => isInCollective)) return undefined;
    const missing = missingRanks(run, still);
    const waiting = run.numbers.filter((rank) => !missing.includes(rank));
    const { row } = run.steps[0]!.at(-1)!;
    const all = (row.end - run.steps[0]![0]!.row.start) / 1000;
    return {
      id: 'hang',
      severity: seconds >= CRITICAL_SECONDS ? 'critical' : 'warning',
      share: seconds / (seconds + all),
      evidence: [
        { quantity: 'without a step', value: seconds, unit: 's', limit },
        { quantity: 'the last step of all ranks', value: row.step, unit: '' },
        ...still.map(({ collectives }, i) => ({
          quantity: `collectives of rank ${run.numbers[i]!}`,
          value: collectives,
          unit: 'calls',
        })),
      ],
      cause:
        missing.length > 0
          ? `${namesOf(missing)} ${missing.length > 1 ? 'make' : 'makes'} no collective call any more, and ${namesOf(waiting, 'r')} ${waiting.length > 1 ? 'wait' : 'waits'} in one.`
          : 'All ranks wait in collectives: these differ, or the network between the ranks is lost.',
      ranks: missing.length > 0 ? missing : run.numbers,
      since: { step: row.step + 1, time: new Date(row.end).toISOString() },
      advice:
        'All ranks must make the same calls. Look for code after this step that waits, or that only some of the ranks run: a branch by rank, an endless loop, data that ends early.',
      change: null,
      gain: null,
    };
  },
};

function standstillOf(run: Run, index: number, until: number): Standstill {
  const { time, collectives } = run.lastSample(index)!;
  const after = run.samplesAfter(index);
  const same = after.slice(after.findLastIndex((row) => row.collectives !== collectives) + 1);
  const from = same[0]?.time ?? run.steps[index]!.at(-1)!.row.end;
  const lastIn = same.findLast(({ isInCollective }) => isInCollective === 1);
  return {
    seconds: (until - from) / 1000,
    collectives,
    isInCollective: lastIn !== undefined && (time - lastIn.time) / 1000 < ENDING_SECONDS,
  };
}

/** The ranks that are in no collective; if all are in one, those that have made fewer calls. */
function missingRanks(run: Run, still: readonly Standstill[]): number[] {
  const outside = run.numbers.filter((_, i) => !still[i]!.isInCollective);
  if (outside.length > 0) return outside;
  const most = max(still.map(({ collectives }) => collectives));
  return run.numbers.filter((_, i) => still[i]!.collectives < most);
}

function namesOf(ranks: readonly number[], first = 'R'): string {
  return `${first}${ranks.length > 1 ? 'anks' : 'ank'} ${ranks.join(', ')}`;
}
