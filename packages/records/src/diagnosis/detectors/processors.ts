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

/** Removes that wait from each step. */
function withoutQueue(run: Run, share: number) {
  const rates = queued(run);
  return less(({ ms, waitedMs }, i) => share * rates[i]! * (ms - waitedMs));
}

/** The ranks of a host compute with more threads than it has processors. */
export const oversubscribed: Detector = {
  id: 'oversubscribed',
  needs: { samples: ['runQueueMs', 'cpuMs'], facts: ['threads', 'processors', 'host'], ranks: 2 },
  find(run) {
    const { processors } = run.facts!;
    const hosts = run.numbers.map((_, i) => ranksOnHost(run, i));
    const threads = hosts.map((ranks) => sum(ranks.map((i) => factsOf(run, i)?.threads ?? 1)));
    const most = Math.max(...threads);
    const share = Math.max(...queued(run));
    if (most <= processors || share < 0.05) return undefined;
    const ranks = hosts[threads.indexOf(most)]!;
    const own = run.facts!.threads ?? 1;
    const fair = Math.max(1, Math.floor(processors / ranks.length));
    const cause = `${ranks.length} ranks compute with ${most} threads on ${processors} processors, and wait for each other's time on them.`;
    return {
      id: 'oversubscribed',
      severity: share >= 0.2 ? 'critical' : 'warning',
      share,
      evidence: [
        { quantity: 'threads on a host', value: most, unit: 'threads', limit: processors },
        { quantity: 'waiting for a processor', value: 100 * share, unit: '% of the time', limit: 5 },
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
        mid: withoutQueue(run, 1),
        low: withoutQueue(run, 0.5),
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
    const share = Math.max(...waits) + (stolen >= 0.02 ? stolen : 0);
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
      gain: gainOf(run, { mid: withoutQueue(run, 1), low: withoutQueue(run, 0.5) }),
    };
  },
};
