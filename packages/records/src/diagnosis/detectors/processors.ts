import { counted } from '@acc/contract';
import type { Detector, Finding } from '../finding.js';
import { launchChange } from '../options.js';
import { gainOf, less } from '../replay.js';
import type { Run } from '../run.js';
import {
  factsOf,
  foreignProcessors,
  hostProcessors,
  mostQueued,
  processorsOf,
  ranksOnHost,
  rateOf,
  risesAt,
} from '../samples.js';
import { severityOf } from '../severity.js';
import { max, sum } from '../statistics.js';

/** The share of the time in which the main thread of each rank waited for a processor. */
function queued(run: Run): number[] {
  return run.steps.map((_, i) => rateOf(run, i, 'runQueueMs'));
}

/** Removes a part of that wait from each step. */
function withoutQueue(run: Run, part: number) {
  const rates = queued(run);
  return less(({ ms, waitedMs }, i) => part * rates[i]! * (ms - waitedMs));
}

interface Threads {
  readonly ranks: readonly number[];
  readonly threads: number;
  readonly processors: number;
}

/** The ranks of a host, or a rank alone, whose threads exceed their processors most. */
function mostThreads(run: Run): Threads {
  const groups = run.numbers.flatMap((_, i) => [[i], ranksOnHost(run, i)]);
  const each = groups.map((ranks): Threads => {
    const threads = sum(ranks.map((rank) => factsOf(run, rank)?.threads ?? 1));
    return { ranks, threads, processors: processorsOf(run, ranks) };
  });
  const over = ({ threads, processors }: Threads) => threads - processors;
  return each.reduce((most, group) => (over(group) >= over(most) ? group : most));
}

/** The part of the queue that is of the job itself: its threads over the number of processors. */
function ownPart(run: Run): number {
  const { threads, processors } = mostThreads(run);
  const over = Math.max(0, threads - processors);
  const foreign = max([0, ...run.numbers.map((_, i) => foreignProcessors(run, i) || 0)]);
  return over === 0 ? 0 : over / (over + foreign);
}

/** The part of a wait that goes with further threads: in the rest, other threads do the work of the rank. */
const OF_QUEUE = { low: 0.25, mid: 0.5 };

/** The ranks of a host compute with more threads than it has processors. */
export const oversubscribed: Detector = {
  id: 'oversubscribed',
  needs: { samples: ['runQueueMs', 'cpuMs'], facts: ['threads', 'processors', 'host'] },
  find(run) {
    const { threads, ranks, processors } = mostThreads(run);
    const part = ownPart(run);
    const queue = mostQueued(run);
    const share = queue * part;
    if (threads <= processors || share < 0.05) return undefined;
    const own = factsOf(run, ranks[0]!)?.threads ?? 1;
    const fair = Math.max(1, Math.floor(processors / ranks.length));
    const isAlone = ranks.length === 1;
    return {
      id: 'oversubscribed',
      severity: severityOf(share),
      share,
      evidence: [
        { quantity: 'threads', value: threads, unit: isAlone ? 'of a rank' : 'on a host', limit: processors },
        { quantity: 'waiting for a processor', value: 100 * queue, unit: '% of the time', limit: 5 },
      ],
      cause: `${counted(ranks.length, 'rank')} ${isAlone ? 'computes' : 'compute'} with ${counted(threads, 'thread')} on ${counted(processors, 'processor')}, and the threads wait for each other.`,
      ranks: ranks.map((i) => run.numbers[i]!),
      since: null,
      ...remedyOf(own, fair, processors),
      gain: gainOf(run, {
        mid: withoutQueue(run, OF_QUEUE.mid * part),
        low: withoutQueue(run, OF_QUEUE.low * part),
        high: withoutQueue(run, 1),
      }),
    };
  },
};

function remedyOf(own: number, fair: number, processors: number): Pick<Finding, 'advice' | 'change'> {
  return own > fair
    ? {
        advice: `Give each rank ${counted(fair, 'thread')}.`,
        change: launchChange('threads', own, fair),
      }
    : { advice: `Start at most ${counted(processors, 'rank')} on this host.`, change: null };
}

/** Other programs, or other virtual machines, use the processors. */
export const processorsTaken: Detector = {
  id: 'cpu-steal',
  needs: {
    samples: ['runQueueMs', 'hostBusyMs', 'stealMs', 'cpuMs'],
    facts: ['processors', 'host'],
  },
  find(run) {
    const foreign = max(run.steps.map((_, i) => foreignProcessors(run, i) / hostProcessors(run, i)));
    const stolen = max(run.steps.map((_, i) => rateOf(run, i, 'stealMs') / hostProcessors(run, i)));
    const waits = queued(run);
    const part = 1 - ownPart(run);
    const share = part * max(waits) + (stolen >= 0.02 ? stolen : 0);
    if ((foreign < 0.1 && stolen < 0.02) || share < 0.05) return undefined;
    const worst = waits.indexOf(max(waits));
    const since = risesAt(run, worst, 'runQueueMs', 0.05);
    const isStolen = stolen >= 0.02 && stolen > foreign;
    return {
      id: 'cpu-steal',
      severity: severityOf(share),
      share,
      evidence: [
        { quantity: 'processors busy for other programs', value: 100 * foreign, unit: '%', limit: 10 },
        { quantity: 'processors taken by the hypervisor', value: 100 * stolen, unit: '%', limit: 2 },
        {
          quantity: 'waiting for a processor',
          value: 100 * max(waits),
          unit: '% of the time',
          limit: 5,
        },
      ],
      cause: isStolen
        ? 'The hypervisor gives the processors of this host to other machines.'
        : 'Other programs of the host use its processors, and the training waits for them.',
      ranks: run.numbers.filter((_, i) => waits[i]! >= 0.05),
      since: since === undefined ? null : run.since(run.steps[worst]![since]!.row),
      advice:
        'End the other programs, move the training to another host, or give it processors of its own (--cpu-bind).',
      change: null,
      gain: gainOf(run, { mid: withoutQueue(run, part), low: withoutQueue(run, part / 2) }),
    };
  },
};
