import type { Detector } from '../finding.js';
import { launchChange } from '../options.js';
import { gainOf, less } from '../replay.js';
import type { Run } from '../run.js';
import { factsOf, foreignProcessors, ranksOnHost, rateOf, risesAt } from '../samples.js';
import { sum } from '../statistics.js';

/** The share of the time in which the main thread of each rank waited for a processor. */
function queued(run: Run): number[] {
  return run.steps.map((_, i) => rateOf(run, i, 'runQueueMs'));
}

/** Removes a part of that wait from each step. */
function withoutQueue(run: Run, part: number) {
  const rates = queued(run);
  return less(({ ms, waitedMs }, i) => part * rates[i]! * (ms - waitedMs));
}

/** The largest number of threads of the ranks of a host, and these ranks. */
function mostThreads(run: Run): { readonly threads: number; readonly ranks: readonly number[] } {
  const hosts = run.numbers.map((_, i) => {
    const ranks = ranksOnHost(run, i);
    return { ranks, threads: sum(ranks.map((rank) => factsOf(run, rank)?.threads ?? 1)) };
  });
  return hosts.reduce((most, each) => (each.threads > most.threads ? each : most));
}

/** The part of the queue that is of the job itself: its threads over the number of processors. */
function ownPart(run: Run): number {
  const over = Math.max(0, mostThreads(run).threads - run.facts!.processors);
  const foreign = Math.max(0, ...run.numbers.map((_, i) => foreignProcessors(run, i) || 0));
  return over === 0 ? 0 : over / (over + foreign);
}

/** The ranks of a host compute with more threads than it has processors. */
export const oversubscribed: Detector = {
  id: 'oversubscribed',
  needs: { samples: ['runQueueMs', 'cpuMs'], facts: ['threads', 'processors', 'host'], ranks: 2 },
  find(run) {
    const { processors } = run.facts!;
    const { threads: most, ranks } = mostThreads(run);
    const part = ownPart(run);
    const queue = Math.max(...queued(run));
    const share = queue * part;
    if (most <= processors || share < 0.05) return undefined;
    const own = run.facts!.threads ?? 1;
    const fair = Math.max(1, Math.floor(processors / ranks.length));
    const cause = `${ranks.length} ranks compute with ${most} threads on ${processors} processors, and wait for each other's time on them.`;
    return {
      id: 'oversubscribed',
      severity: share >= 0.2 ? 'critical' : 'warning',
      share,
      evidence: [
        { quantity: 'threads on a host', value: most, unit: 'threads', limit: processors },
        { quantity: 'waiting for a processor', value: 100 * queue, unit: '% of the time', limit: 5 },
      ],
      cause,
      ranks: ranks.map((i) => run.numbers[i]!),
      since: null,
      advice:
        own > fair
          ? `Give each rank ${fair} thread${fair > 1 ? 's' : ''}.`
          : `Start at most ${processors} ranks on this host.`,
      change: own > fair ? launchChange('threads', own, fair) : null,
      gain: gainOf(run, {
        mid: withoutQueue(run, part),
        low: withoutQueue(run, part / 2),
        high: withoutQueue(run, 1),
      }),
    };
  },
};

/** Other programs, or other virtual machines, use the processors. */
export const processorsTaken: Detector = {
  id: 'cpu-steal',
  needs: {
    samples: ['runQueueMs', 'hostBusyMs', 'stealMs', 'cpuMs'],
    facts: ['processors', 'host'],
  },
  find(run) {
    const { processors } = run.facts!;
    const foreign = Math.max(...run.steps.map((_, i) => foreignProcessors(run, i))) / processors;
    const stolen = Math.max(...run.steps.map((_, i) => rateOf(run, i, 'stealMs'))) / processors;
    const waits = queued(run);
    const part = 1 - ownPart(run);
    const share = part * Math.max(...waits) + (stolen >= 0.02 ? stolen : 0);
    if ((foreign < 0.1 && stolen < 0.02) || share < 0.05) return undefined;
    const worst = waits.indexOf(Math.max(...waits));
    const since = risesAt(run, worst, 'runQueueMs', 0.05);
    const isStolen = stolen >= 0.02 && stolen > foreign;
    return {
      id: 'cpu-steal',
      severity: share >= 0.2 ? 'critical' : 'warning',
      share,
      evidence: [
        { quantity: 'processors busy for other programs', value: 100 * foreign, unit: '%', limit: 10 },
        { quantity: 'processors taken by the hypervisor', value: 100 * stolen, unit: '%', limit: 2 },
        {
          quantity: 'waiting for a processor',
          value: 100 * Math.max(...waits),
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
