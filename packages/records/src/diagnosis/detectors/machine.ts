import { counted } from '@acc/contract';
import type { Detector, Evidence } from '../finding.js';
import { changeOf, launchChange, optionOf } from '../options.js';
import { gainOf, less, type Edit } from '../replay.js';
import type { Run } from '../run.js';
import { factsOf, foreignProcessors, processorsOf, ranksOnHost, rateOf } from '../samples.js';
import { severityOf } from '../severity.js';
import { max, median, sum } from '../statistics.js';

const USED = 0.6;
/** The part of further threads that shortens a pass. Shared caches and memory take the rest. */
const OF_THREADS = { low: 0.2, mid: 0.4, high: 1 };
/** Calls that are shorter, in milliseconds, are not divided over threads. */
const LEAST_CALL_MS = 0.1;

interface Idle {
  readonly processors: number;
  readonly own: number;
  /** Threads that each rank could have. */
  readonly fair: number;
  readonly ranks: readonly number[];
}

/** The ranks of a host whose threads leave processors idle. Undefined: there are none. */
function idleOf(run: Run): Idle | undefined {
  const all = run.numbers.map((_, i): Idle => {
    const ranks = ranksOnHost(run, i);
    const processors = processorsOf(run, ranks);
    const own = factsOf(run, i)?.threads ?? 1;
    const foreign = Math.max(0, Math.round(foreignProcessors(run, i) || 0));
    return { ranks, processors, own, fair: Math.floor((processors - foreign) / ranks.length) };
  });
  return all.find(({ ranks, processors, own, fair }) => {
    const busy = sum(ranks.map((i) => rateOf(run, i, 'cpuMs')));
    return fair > own && own * ranks.length <= USED * processors && busy < USED * processors;
  });
}

/** Passes take the time, and have fewer threads than there are processors. */
export const idleCores: Detector = {
  id: 'idle-cores',
  needs: {
    steps: ['optimizer'],
    samples: ['cpuMs', 'hostBusyMs'],
    facts: ['threads', 'processors', 'host'],
    passes: true,
  },
  find(run) {
    const idle = idleOf(run);
    const computed = run.share(({ computeMs }) => computeMs);
    if (!idle || computed < 0.5) return undefined;
    const calls = run.steps.flat().filter(({ row }) => row.calls > 0);
    if (calls.length === 0) return 'no step with counted calls: they are the 16th, 32nd, 64th and so on';
    const callMs = median(calls.map(({ row }) => row.kernels / row.calls));
    if (callMs < LEAST_CALL_MS) return undefined;
    const { processors, own, fair, ranks } = idle;
    const left = (part: number) => 1 / (1 + part * (fair / own - 1));
    const edit =
      (part: number): Edit =>
      (cost, { computeMs, row }) => ({
        ...cost,
        before:
          cost.before - (1 - left(part)) * Math.max(0, Math.min(cost.before, computeMs - row.optimizer)),
        after: cost.after * left(part),
      });
    const share = computed * (1 - left(OF_THREADS.mid));
    const busy = sum(ranks.map((i) => rateOf(run, i, 'cpuMs'))) / processors;
    return {
      id: 'idle-cores',
      severity: severityOf(share, 0.4),
      share,
      evidence: idleEvidence(idle, busy, computed),
      cause: idleCause(idle),
      ranks: ranks.map((i) => run.numbers[i]!),
      since: null,
      advice: `Give each rank ${counted(fair, 'thread')}, or start more ranks.`,
      change: launchChange('threads', own, fair),
      gain: gainOf(run, {
        low: edit(OF_THREADS.low),
        mid: edit(OF_THREADS.mid),
        high: edit(OF_THREADS.high),
      }),
    };
  },
};

function idleEvidence({ processors, own, fair }: Idle, busy: number, computed: number): Evidence[] {
  const [used, on] = ['processors busy for the ranks of a host', `on ${counted(processors, 'processor')}`];
  return [
    { quantity: used, value: 100 * busy, unit: '%', limit: 100 * USED },
    { quantity: 'threads of a rank', value: own, unit: on, limit: fair },
    { quantity: 'passes and optimizer', value: 100 * computed, unit: '% of the time', limit: 50 },
  ];
}

function idleCause({ processors, own, ranks }: Idle): string {
  const [verb, each] = ranks.length === 1 ? ['computes', ''] : ['compute', ' each'];
  const threads = `${counted(own, 'thread')}${each} on ${counted(processors, 'processor')}`;
  return `${counted(ranks.length, 'rank')} ${verb} with ${threads}, and the others are idle.`;
}

/** A limit of processor time holds processes up. */
export const throttling: Detector = {
  id: 'throttling',
  needs: { samples: ['throttledMs'], facts: ['processors'] },
  find(run) {
    // The counter adds up processors.
    const shares = run.numbers.map((_, i) =>
      Math.min(1, rateOf(run, i, 'throttledMs') / (factsOf(run, i)?.threads ?? 1)),
    );
    const share = max(shares);
    if (!(share >= 0.03)) return undefined;
    return {
      id: 'throttling',
      severity: severityOf(share),
      share,
      evidence: [{ quantity: 'held up by the limit', value: 100 * share, unit: '% of the time', limit: 3 }],
      cause:
        'A limit of processor time (cpu.max of the cgroup, or the limit of a container) holds processes up.',
      ranks: run.numbers.filter((_, i) => shares[i]! >= 0.03),
      since: null,
      advice:
        'Raise the limit, such as resources.limits.cpu of the pod, or start ranks with fewer threads (--threads).',
      change: null,
      gain: gainOf(run, {
        mid: less(({ ms, waitedMs }, i) => shares[i]! * (ms - waitedMs)),
        low: less(({ ms, waitedMs }, i) => 0.5 * shares[i]! * (ms - waitedMs)),
      }),
    };
  },
};

/** Faults a second that are no chance. */
const MOST_FAULTS = 10;

/** Memory is full, and the system takes pages away that the training needs again. */
export const paging: Detector = {
  id: 'paging',
  needs: { samples: ['majorFaults', 'memoryStallMs'], facts: ['options'] },
  find(run) {
    const faults = run.numbers.map((_, i) => 1000 * rateOf(run, i, 'majorFaults'));
    const shares = run.numbers.map((_, i) =>
      faults[i]! >= MOST_FAULTS ? Math.min(1, rateOf(run, i, 'memoryStallMs')) : 0,
    );
    const share = max(shares);
    if (!(share >= 0.03)) return undefined;
    const canRecompute = optionOf(run, 'checkpointEvery') === undefined;
    return {
      id: 'paging',
      severity: severityOf(share),
      share,
      evidence: [
        { quantity: 'waiting for memory', value: 100 * share, unit: '% of the time', limit: 3 },
        { quantity: 'pages read from disk', value: max(faults), unit: 'a second', limit: MOST_FAULTS },
      ],
      cause: 'Memory is full: the system takes pages away, and reads them from disk when a step needs them.',
      ranks: run.numbers.filter((_, i) => shares[i]! >= 0.03),
      since: null,
      advice:
        'Use smaller batches, compute activations again (checkpointEvery), or shard the weights (strategy fsdp). End other programs that take memory.',
      change: canRecompute ? changeOf(run, 'checkpointEvery', 1) : null,
      gain: gainOf(run, {
        mid: less(({ ms, waitedMs }, i) => shares[i]! * (ms - waitedMs)),
        low: less(({ ms, waitedMs }, i) => 0.5 * shares[i]! * (ms - waitedMs)),
      }),
    };
  },
};
