// Compares every communication hook, LocalSGD, DiLoCo and oneBitAdam with plain implementations of
// all ranks in one process (plain/), and PowerSGD and fp16 with the results of PyTorch's hooks
// (python/make_fixture.py).
import { readFileSync } from 'node:fs';
import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import { expectClose } from '@acc/testkit';
import { onRanks } from '../on-ranks.js';
import {
  HOOK_CASES,
  isUnused,
  LOCAL_CASES,
  ONE_BIT_ADAM,
  ONE_BIT_ADAM_CASE,
  PYTORCH_CASES,
  sizeOf,
  startingQs,
  STEPS,
  type HookCase,
} from './cases.js';
import { number, numbers } from './numbers.js';
import { plainCast, spacing } from './plain/casts.js';
import { average, outerStep, plainLocalSteps } from './plain/local-steps.js';
import { plainOneBit, plainOneBitAdam } from './plain/one-bit.js';
import type { PlainHook, PlainStep } from './plain/plain-hook.js';
import { plainPowerSgd } from './plain/power-sgd.js';
import { plainTopK } from './plain/top-k.js';
import type { Report, Run } from './ranks/values.js';

/**
 * Numbers are about 1, and each step depends on the previous one. So the tolerance is some hundred
 * roundings of float32, 6e-8 each. A wrong term would be thousands of times larger.
 */
const FLOAT32 = { rtol: 0, atol: 1e-5 };
/** oneBit divides differences of momenta by 1 - 0.9, which also enlarges their rounding errors. */
const ONE_BIT = { rtol: 0, atol: 1e-4 };

type Fixture = Record<number, Record<string, number[][][]>>;
const pytorch = JSON.parse(
  readFileSync(new URL('./python/pytorch.json', import.meta.url), 'utf8'),
) as Fixture;

/**
 * PowerSGD's own starting matrix: normal numbers whose seed is the FNV-1a hash of the name of the
 * matrix and the step.
 */
function randomQ(name: string, step: number, shape: [number, number]): ArrayLike<number> {
  let seed = 0x811c9dc5;
  for (const letter of `${name}/${step}`) seed = Math.imul(seed ^ letter.charCodeAt(0), 0x01000193);
  return tf.tidy(() => tf.randomNormal(shape, 0, 1, 'float32', seed >>> 0).dataSync());
}

function plainHook(hookCase: HookCase, size: number): PlainHook {
  const { hook } = hookCase;
  switch (hook.kind) {
    case 'fp16':
    case 'bf16':
      return plainCast(hook.kind, size);
    case 'topK':
      return plainTopK(hookCase, hook.ratio, size);
    case 'oneBit':
      return plainOneBit(hookCase, hook, size);
    case 'powerSgd': {
      const given = startingQs(hookCase, hook.options);
      const { startsFromQ, options } = hook;
      return plainPowerSgd(hookCase, options, size, (name, step, shape) =>
        startsFromQ ? given[name]! : randomQ(name, options.warmStart ? 0 : step, shape),
      );
    }
  }
}

/** The results of a plain hook in each step. */
function plainSteps(hookCase: HookCase, size: number): PlainStep[] {
  const hook = plainHook(hookCase, size);
  return Array.from({ length: STEPS }, (_, step) => {
    const grads = Array.from({ length: size }, (_, rank) =>
      hookCase.shapes.map((shape, variable) =>
        isUnused(hookCase, { rank, size, step, variable })
          ? new Array<number>(sizeOf(shape)).fill(0)
          : [...numbers(rank, step, variable, sizeOf(shape))],
      ),
    );
    return hook(step, grads);
  });
}

/**
 * The distance of neighbouring numbers of a dtype. Engines may round a sum of three more than once,
 * but a sum of two only once.
 */
function toleranceOf({ hook }: HookCase, size: number) {
  if (hook.kind === 'oneBit') return ONE_BIT;
  if (hook.kind !== 'fp16' && hook.kind !== 'bf16') return FLOAT32;
  return size < 3 ? { rtol: 0, atol: 0 } : { rtol: spacing(hook.kind), atol: 0 };
}

describe.each([1, 2, 3])('on %i ranks', (size) => {
  let ranks: Report[];

  const ranksOf = (backend: 'acc' | 'cpu'): Run[] => ranks.map((report) => report[backend]);

  beforeAll(async () => {
    await tf.setBackend('cpu');
    const module = new URL('./ranks/values.ts', import.meta.url);
    const env = { OMP_NUM_THREADS: '1' };
    ranks = await onRanks<Report>({ module, ranks: size, env });
  });

  describe.each(['acc', 'cpu'] as const)('%s', (backend) => {
    const runs = () => ranksOf(backend);

    it.each(Object.entries(HOOK_CASES))('%s: gradients of each step', (name, hookCase) => {
      const expected = plainSteps(hookCase, size);
      for (const { hooks } of runs()) {
        const { grads } = hooks[name]!;
        expect(grads).toEqual(runs()[0]!.hooks[name]!.grads);
        expectClose(
          grads,
          expected.map((step) => step.grads),
          toleranceOf(hookCase, size),
        );
      }
    });

    it.each(Object.entries(HOOK_CASES).filter(([, { hook }]) => !['fp16', 'bf16'].includes(hook.kind)))(
      '%s: the state after each step',
      (name, hookCase) => {
        const expected = plainSteps(hookCase, size);
        runs().forEach(({ hooks }, rank) => {
          const { states } = hooks[name]!;
          expect(states).toHaveLength(STEPS);
          states.forEach(({ shared, local }, step) => {
            const { shared: plainShared, local: plainLocal } = expected[step]!;
            for (const [key, values] of Object.entries(plainShared)) {
              expectClose(shared[key] as Float32Array, values, FLOAT32);
            }
            expect(Object.keys(local)).toHaveLength(plainLocal.length === 0 ? 0 : hookCase.buckets.length);
            hookCase.buckets.forEach((bucket, b) => {
              if (plainLocal.length === 0) return;
              // Gradients are sent divided by the number of ranks.
              const errors = bucket.flatMap((variable) => plainLocal[rank]![variable]!.map((x) => x / size));
              expectClose(local[`0.${b}/error`] as Float32Array, errors, FLOAT32);
            });
          });
        });
      },
    );

    it.each(Object.entries(LOCAL_CASES))('%s: weights of each step', (name, { kind, every }) => {
      const expected = plainLocalSteps(size, every, kind === 'diloco' ? outerStep() : average);
      runs().forEach(({ local }, rank) => expectClose(local[name]!, expected[rank]!, FLOAT32));
    });

    it('oneBitAdam with oneBit: weights of each step', () => {
      const grads = plainSteps(ONE_BIT_ADAM_CASE, size).map((step) => step.grads);
      const expected = plainOneBitAdam(grads);
      expect(ONE_BIT_ADAM.warmupSteps).toBeLessThan(STEPS);
      for (const { oneBitAdam } of runs()) expectClose(oneBitAdam, expected, ONE_BIT);
    });

    it('gradients that share memory are reduced once each, and values that the program keeps do not change', () => {
      const mean = Array.from({ length: 24 }, (_, i) => {
        let sum = 0;
        for (let rank = 0; rank < size; rank++) sum += number(rank, 0, 0, i);
        return sum / size;
      });
      runs().forEach(({ aliases }, rank) => {
        const own = [...numbers(rank, 0, 0, 24)].map((x) => x / size);
        const { sums, ...others } = aliases;
        const ofSums = new Array<number>(24).fill((size + 1) / 2);
        expectClose(sums!.grads, [ofSums, ofSums], FLOAT32);
        expect(Object.keys(others)).toHaveLength(6);
        for (const [name, { grads, kept }] of Object.entries(others)) {
          expectClose(grads, [mean, mean], FLOAT32);
          const isInParts = name === 'parts of one tensor';
          for (const values of kept) expectClose(values, isInParts ? [...own, ...own] : own, FLOAT32);
          expect(kept, name).toHaveLength(KEPT[name]!);
        }
      });
    });

    it('leaves no tensor behind', () => {
      for (const { leaked } of runs()) expect(leaked).toBe(0);
    });
  });

  // PyTorch averages over two or more ranks.
  describe.each(size === 1 ? [] : (['acc', 'cpu'] as const))("%s equals PyTorch's", (backend) => {
    it.each(Object.entries(PYTORCH_CASES))('%s: gradients of each step', (name, there) => {
      const expected = pytorch[size]![there]!;
      expect(expected).toHaveLength(STEPS);
      for (const { hooks } of ranksOf(backend)) expectClose(hooks[name]!.grads, expected, FLOAT32);
    });

    it('fp16: gradients of each step', () => {
      // PyTorch rounds, divides by the number of ranks, and rounds again. Division by 2 is exact
      // except below the smallest normal number.
      const expected = pytorch[size]!['fp16']![0]![0]!;
      const tolerance = size === 2 ? { rtol: 0, atol: 2 ** -24 } : { rtol: 2 ** -10, atol: 2 ** -11 };
      for (const { cast } of ranksOf(backend)) expectClose(cast, expected, tolerance);
    });
  });
});

/** The number of tensors that the program kept in each case of ranks/aliases.ts. */
const KEPT: Readonly<Record<string, number>> = {
  'one tensor for two variables': 0,
  'a clone each': 0,
  'kept itself': 1,
  'kept as a clone': 2,
  'kept in another shape': 1,
  'parts of one tensor': 1,
};
