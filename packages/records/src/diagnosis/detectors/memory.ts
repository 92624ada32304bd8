import type { Detector } from '../finding.js';
import { changeOf, optionOf } from '../options.js';
import { gainOf, type Edit } from '../replay.js';
import type { Run } from '../run.js';
import { factsOf, ranksOnHost } from '../samples.js';
import { line, max, median, sum } from '../statistics.js';

const MIB = 2 ** 20;
const LEAK_STEPS = 50;

/** Tensors stay after the steps that made them. */
export const leak: Detector = {
  id: 'leak',
  needs: { steps: ['tensors'], minSteps: LEAK_STEPS },
  find(run) {
    const found = run.steps.flatMap((_, index) => {
      const growth = growthOf(run, index);
      return growth ? [{ ...growth, rank: run.numbers[index]! }] : [];
    });
    const worst = found.reduce<(typeof found)[number] | undefined>(
      (most, each) => (most && most.tensors >= each.tensors ? most : each),
      undefined,
    );
    if (!worst) return undefined;
    return {
      id: 'leak',
      severity: worst.isGrowing ? 'critical' : 'warning',
      share: 0,
      evidence: [
        { quantity: 'tensors that stay', value: worst.tensors, unit: 'a step', limit: 0.5 },
        { quantity: 'growth, in its standard errors', value: worst.t, unit: '', limit: 5 },
        { quantity: 'memory of tensors that stays', value: worst.bytes / MIB, unit: 'MiB a step' },
      ],
      cause: `Each step leaves about ${worst.tensors.toFixed(1)} tensors behind${worst.isGrowing ? ', until memory is full' : ''}.`,
      ranks: found.map(({ rank }) => rank),
      since: null,
      advice:
        'Dispose them: put the code of the loop into tf.tidy, and dispose batches and losses after each step.',
      change: null,
      gain: null,
    };
  },
};

/** Only steps that log figures count: between them, losses wait to be read. */
function growthOf(run: Run, index: number) {
  const rows = run.steps[index]!.map(({ row }) => row);
  const due = rows.filter(({ nonFinite }) => nonFinite >= 0);
  const seen = due.length >= 5 ? due : rows;
  const steps = seen.map(({ step }) => step);
  const counts = seen.map(({ tensors }) => tensors);
  const { slope: tensors, t } = line(steps, counts);
  const falls = counts.filter((count, i) => i > 0 && count < counts[i - 1]!).length;
  if (tensors < 0.5 || t < 5 || falls > 0.1 * counts.length) return undefined;
  const known = seen.filter(({ allocatedBytes }) => allocatedBytes >= 0);
  const { slope: bytes, t: ofBytes } = line(
    known.map(({ step }) => step),
    known.map(({ allocatedBytes }) => allocatedBytes),
  );
  return { tensors, t, bytes, isGrowing: bytes > 0 && ofBytes >= 5 };
}

/** The processes of a host need nearly all of its memory. */
export const nearOom: Detector = {
  id: 'near-oom',
  needs: { samples: ['rssBytes'], facts: ['memoryBytes', 'host', 'options'] },
  find(run) {
    const shares = run.numbers.map((_, i) => {
      const together = ranksOnHost(run, i).map((j) => max(run.samples(j).map(({ rssBytes }) => rssBytes)));
      return sum(together) / factsOf(run, i)!.memoryBytes;
    });
    const most = max(shares);
    if (most < 0.92) return undefined;
    const canRecompute = optionOf(run, 'checkpointEvery') === undefined;
    return {
      id: 'near-oom',
      severity: most >= 0.97 ? 'critical' : 'warning',
      share: 0,
      evidence: [
        { quantity: 'memory of the processes', value: 100 * most, unit: '% of the memory', limit: 92 },
      ],
      cause: 'The ranks of a host need nearly all of its memory.',
      ranks: run.numbers.filter((_, i) => shares[i]! >= 0.92),
      since: null,
      advice:
        'Use smaller batches, compute activations again (checkpointEvery), or shard the weights (strategy fsdp).',
      change: canRecompute ? changeOf(run, 'checkpointEvery', 1) : null,
      gain: null,
    };
  },
};

/** The part of the memory that may be full without offload. */
const HEADROOM = 0.6;

/** The largest peak of the memory of tensors. Undefined: it is not known. */
function peakOf(run: Run): number | undefined {
  const peaks = run.steps.flat().flatMap(({ row }) => (row.peakBytes > 0 ? [row.peakBytes] : []));
  return peaks.length === 0 ? undefined : max(peaks);
}

/** Weights, and two values of each for an optimizer such as Adam. */
const OF_WEIGHTS = 3;

/**
 * The bytes that the ranks of a host keep elsewhere, at most, by what they send: all shards send the weights
 * at least twice in a step, as rings do.
 */
function keptElsewhere(run: Run): number {
  const bytes = median(run.steps[0]!.map(({ row }) => row.bytesSent));
  const ranks = run.numbers.length;
  return (OF_WEIGHTS * bytes * ranks) / (2 * (ranks - 1));
}

/** The part of the optimizer that moves weights and their state. Files are much slower than memory. */
const MOVED = {
  files: { low: 0.5, mid: 0.9, high: 1 },
  host: { low: 0.2, mid: 0.5, high: 0.9 },
};

/** Undefined: nothing moves. On a CPU, host memory is where they are. */
function movedPart(run: Run): (typeof MOVED)['files'] | undefined {
  const isOffloaded = Boolean(optionOf(run, 'fsdp.offload')) || optionOf(run, 'fsdp.cpuOffload') === true;
  if (!isOffloaded) return undefined;
  if ((optionOf(run, 'fsdp.offload.to') ?? 'cpu') !== 'cpu') return MOVED.files;
  return run.facts?.device === 'cpu' ? undefined : MOVED.host;
}

/** Weights or their state are kept elsewhere, although there is room for them. */
export const memoryHeadroom: Detector = {
  id: 'memory-headroom',
  needs: { steps: ['optimizer', 'bytesSent'], facts: ['options', 'memoryBytes'], ranks: 2 },
  find(run) {
    const moved = movedPart(run);
    if (!moved) return undefined;
    const peak = peakOf(run);
    if (peak === undefined) return 'no step with a known peak of memory';
    const onHost = max(run.numbers.map((_, i) => ranksOnHost(run, i).length));
    const without = peak * onHost + keptElsewhere(run);
    if (Number.isNaN(without)) return 'the size of the weights is not known';
    const share = run.share(({ row }) => row.optimizer);
    const { memoryBytes } = run.facts!;
    if (without > HEADROOM * memoryBytes || share < 0.03) return undefined;
    const edit =
      (part: number): Edit =>
      (cost) => ({ ...cost, after: cost.after * (1 - part) });
    return {
      id: 'memory-headroom',
      severity: 'warning',
      share,
      evidence: [
        {
          quantity: 'memory without offload',
          value: (100 * without) / memoryBytes,
          unit: '% of the memory',
          limit: 100 * HEADROOM,
        },
        { quantity: 'optimizer', value: 100 * share, unit: '% of the time', limit: 3 },
      ],
      cause:
        'Weights or the state of the optimizer are kept elsewhere and moved in each step, although there is room for them.',
      ranks: run.numbers,
      since: null,
      advice: 'Leave out fsdp.offload.',
      change: changeOf(run, 'fsdp.offload', null),
      gain: gainOf(run, { low: edit(moved.low), mid: edit(moved.mid), high: edit(moved.high) }),
    };
  },
};
