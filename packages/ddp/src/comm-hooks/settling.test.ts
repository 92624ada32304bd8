import * as tf from '@tensorflow/tfjs';
import { registerAccBackend } from '@acc/kernels';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Collective } from '@acc/contract';
import type { CommHook } from '../comm-hook.js';
import { oneBitHook } from './one-bit.js';
import { powerSgdHook } from './power-sgd.js';
import { settling } from './settling.js';
import { topKHook } from './top-k.js';

const HOOKS: Readonly<Record<string, () => CommHook>> = {
  powerSgd: () => powerSgdHook({ startIteration: 0 }),
  'powerSgd that starts late': () => powerSgdHook({ startIteration: 2 }),
  topK: () => topKHook({ ratio: 0.25 }),
  oneBit: () => oneBitHook({ warmupSteps: 0 }),
  'oneBit that starts late': () => oneBitHook({ warmupSteps: 2 }),
};

/** One rank: what travels comes back. */
const pending = (x: tf.Tensor) => ({ isDone: true, wait: () => x.clone() });
const alone = { rank: 0, size: 1, allReduceAsync: pending, allGatherAsync: pending } as unknown as Collective;
const variables = [{ name: 'w', shape: [8, 8], size: 64 }];
const gradient = (seed: number) => tf.tidy(() => tf.sin(tf.range(0, 64).mul(seed + 1)));
const spoilt = (value: number) =>
  tf.tidy(() => tf.where(tf.range(0, 64).equal(5), tf.fill([64], value), gradient(0)));

/** The sums of two buckets in one pass. */
function pass(hook: CommHook, buckets: readonly tf.Tensor[]): number[][] {
  const ofPass = settling(hook);
  const begun = buckets.map((gradsLocal, i) =>
    ofPass.reduce({ id: `0.${i}`, gradsLocal, variables, collective: alone }),
  );
  const sums = begun.map((each) => [...each.wait().dataSync()]);
  ofPass.end();
  return sums;
}

describe.each(['acc', 'cpu'])('hooks with a state, on %s', (backend) => {
  beforeAll(async () => {
    registerAccBackend();
    await tf.setBackend(backend);
  });

  describe.each(Object.entries(HOOKS))('%s', (_, make) => {
    const train = (spoilAt: Readonly<Record<number, number>>) => {
      const hook = make();
      const sums: number[][][] = [];
      for (let step = 0; step < 6; step++) {
        const value = spoilAt[step];
        if (value !== undefined) {
          const [finite, other] = pass(hook, [gradient(3), spoilt(value)]);
          expect(finite!.every(Number.isFinite)).toBe(true);
          expect(other!.every(Number.isFinite)).toBe(false);
        }
        sums.push(pass(hook, [gradient(step), gradient(step + 10)]));
      }
      const state = hook.getState!();
      hook.dispose!();
      return { sums, state };
    };

    it.each([Infinity, -Infinity, NaN])(
      'pass on %s, and continue as if the step had not been taken',
      (value) => {
        tf.tidy(() => void expect(train({ 0: value, 1: value, 3: value })).toEqual(train({})));
      },
    );

    it('forget a pass that threw', () => {
      tf.tidy(() => {
        const hook = make();
        pass(hook, [gradient(0)]);
        const before = hook.getState!();
        const begun = settling(hook).reduce({
          id: '0.0',
          gradsLocal: gradient(9),
          variables,
          collective: alone,
        });
        begun.wait();
        settling(hook).end();
        expect(hook.getState!()).toEqual(before);
        hook.dispose!();
      });
    });

    it('recover from NaN also in a manual loop, which does not settle steps', () => {
      tf.tidy(() => {
        const hook = make();
        const reduce = (gradsLocal: tf.Tensor) =>
          hook.reduce({ id: '0.0', gradsLocal, variables, collective: alone }).wait().dataSync();
        expect(reduce(spoilt(NaN)).every(Number.isFinite)).toBe(false);
        for (let step = 0; step < 4; step++) expect(reduce(gradient(step)).every(Number.isFinite)).toBe(true);
        hook.dispose!();
      });
    });

    it('leave no tensor behind', () => {
      const before = tf.memory().numTensors;
      tf.tidy(() => void train({ 1: NaN }));
      expect(tf.memory().numTensors).toBe(before);
    });
  });
});
