import { ONE_BIT_ADAM, sizeOf, type HookCase } from '../cases.js';
import { meanOf, type PlainHook } from './plain-hook.js';

/** Numbers closer to 0 than this may have another sign in float32. */
const TOO_SMALL = 1e-5;

/** The signs, multiplied by the mean magnitude. */
function compressed(values: readonly number[]): number[] {
  const scale = values.reduce((sum, x) => sum + Math.abs(x), 0) / values.length;
  const unclear = values.find((x) => x !== 0 && Math.abs(x) < TOO_SMALL);
  if (unclear !== undefined) throw new Error(`${unclear} is too small to have a sure sign`);
  return values.map((x) => (x >= 0 ? scale : -scale));
}

/**
 * Tang et al., "1-bit Adam", 2021, algorithm 1, without compression on the way back. Ranks send the
 * signs of their momentum, with error feedback. The hook returns the gradient that leads to the
 * mean of these momenta.
 */
export function plainOneBit(
  { shapes, buckets }: HookCase,
  { momentum: beta, warmupSteps }: { momentum: number; warmupSteps: number },
  size: number,
): PlainHook {
  const zeros = () => shapes.map((shape) => new Array<number>(sizeOf(shape)).fill(0));
  const errors = Array.from({ length: size }, zeros);
  let momentum = zeros();
  const followed = (before: number[][], grads: readonly number[][]) =>
    before.map((values, variable) => values.map((x, i) => beta * x + (1 - beta) * grads[variable]![i]!));
  const kept = () => {
    if (beta === 0) return {};
    const ofBucket = (bucket: readonly number[], b: number) => [
      `0.${b}/momentum`,
      bucket.flatMap((variable) => momentum[variable]!),
    ];
    return Object.fromEntries(buckets.map(ofBucket)) as Record<string, number[]>;
  };
  return (step, grads) => {
    if (step < warmupSteps) {
      const means = meanOf(grads);
      momentum = followed(momentum, means);
      return { grads: means, shared: kept(), local: [] };
    }
    const sent = grads.map((ofRank, r) => {
      const wanted = followed(momentum, ofRank).map((values, variable) =>
        values.map((x, i) => x + errors[r]![variable]![i]!),
      );
      const bits = wanted.map(compressed);
      errors[r] = wanted.map((values, variable) => values.map((x, i) => x - bits[variable]![i]!));
      return bits;
    });
    const next = meanOf(sent);
    const given = next.map((values, variable) =>
      values.map((x, i) => (x - beta * momentum[variable]![i]!) / (1 - beta)),
    );
    momentum = next;
    return { grads: given, shared: kept(), local: errors.map((ofRank) => ofRank.map((e) => [...e])) };
  };
}

/**
 * The weights after each step of Adam from zeros. The variance does not change after `warmupSteps`.
 */
export function plainOneBitAdam(grads: readonly (readonly number[][])[]): number[][][] {
  const { learningRate, beta1, beta2, epsilon, warmupSteps } = ONE_BIT_ADAM;
  const [m, v, w] = Array.from({ length: 3 }, () =>
    grads[0]!.map(({ length }) => new Array<number>(length).fill(0)),
  );
  return grads.map((ofStep, step) => {
    const t = step + 1;
    ofStep.forEach((grad, variable) =>
      grad.forEach((g, i) => {
        m![variable]![i] = beta1 * m![variable]![i]! + (1 - beta1) * g;
        if (t <= warmupSteps) v![variable]![i] = beta2 * v![variable]![i]! + (1 - beta2) * g * g;
        const direction = m![variable]![i]! / (1 - beta1 ** t);
        const scale = Math.sqrt(v![variable]![i]! / (1 - beta2 ** Math.min(t, warmupSteps))) + epsilon;
        w![variable]![i]! -= (learningRate * direction) / scale;
      }),
    );
    return w!.map((values) => [...values]);
  });
}
