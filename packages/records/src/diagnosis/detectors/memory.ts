import type { Detector } from '../finding.js';
import { changeOf, optionOf } from '../options.js';
import type { Run } from '../run.js';
import { factsOf, ranksOnHost } from '../samples.js';
import { line, max, sum } from '../statistics.js';

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
