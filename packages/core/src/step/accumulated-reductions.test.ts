import * as tf from '@tensorflow/tfjs';
import { afterEach, expect, it } from 'vitest';
import type { Strategy } from '@acc/contract';
import { expectClose } from '@acc/testkit';
import { Accelerator } from '../accelerator.js';
import type { AcceleratorOptions } from '../options.js';

let accelerator: Accelerator;
afterEach(() => accelerator.freeMemory());

const create = async (options: AcceleratorOptions) =>
  (accelerator = await Accelerator.create({ engine: 'acc', ...options }));

const square = (w: tf.Variable, factor: number) => (): tf.Scalar => w.square().mul(factor);

/** A strategy that records in `begun` when a reduction begins, and returns gradients unchanged. */
function counting(begun: number[], step: () => number, traits: Partial<Strategy['traits']> = {}): Strategy {
  return {
    name: 'counting',
    traits: { parameters: 'replicated', ...traits },
    attach() {},
    prepareVariables() {},
    beginReduction(variables) {
      begun.push(step());
      const grads = new Array<tf.Tensor | null>(variables.length).fill(null);
      return { ready: (place, grad) => void (grads[place] = grad), finish: () => grads };
    },
  };
}

it.each([
  ['once a window', 'beforeReduction', [2, 5]],
  ['in every micro-batch if it accumulates reduced gradients', 'afterReduction', [0, 1, 2, 3, 4, 5, 6]],
] as const)('the strategy reduces %s', async (_, accumulates, expected) => {
  const begun: number[] = [];
  let step = 0;
  await create({ strategy: counting(begun, () => step, { accumulates }), gradientAccumulationSteps: 3 });
  const w = tf.variable(tf.scalar(1));
  const [, optimizer] = accelerator.prepare([w], tf.train.sgd(0.1));
  for (; step < 7; step++) accelerator.accumulate(() => optimizer.minimize(square(w, 1)));
  expect(begun).toEqual(expected);
});

it.each(['beforeReduction', 'afterReduction'] as const)(
  'accumulating %s gives the mean over items, whichever micro-batches use which variables',
  async (accumulates) => {
    const strategy = counting([], () => 0, { accumulates });
    await create({ strategy, gradientAccumulationSteps: 3 });
    const [always, first, last] = [0, 1, 2].map(() => tf.variable(tf.scalar(0))) as [
      tf.Variable,
      tf.Variable,
      tf.Variable,
    ];
    const [, optimizer] = accelerator.prepare([always, first, last], tf.train.sgd(1));
    const before = tf.memory().numTensors;
    const items = [1, 5, 2];
    for (let window = 0; window < 2; window++) {
      items.forEach((count, place) => {
        const used = place === 0 ? first : place === 2 ? last : always;
        const loss = () => accelerator.weighLoss(always.mul(place + 1).add(used.mul(10)), count) as tf.Scalar;
        const { value, grads } = accelerator.accumulate(() => {
          const given = accelerator.backward(loss, [always, first, last]);
          optimizer.applyGradients(given.grads);
          return given;
        });
        tf.dispose([value, grads]);
      });
    }
    // Of 8 items one has the slope 1, five have 2 + 10 and two have 3.
    const slopes = [(1 + 5 * 12 + 2 * 3) / 8, 10 / 8, 20 / 8];
    expectClose(
      [always, first, last].map((variable) => variable.dataSync()[0]!),
      slopes.map((slope) => -2 * slope),
      { rtol: 1e-6 },
    );
    expect(tf.memory().numTensors).toBe(before);
  },
);
