import { describe, it } from 'vitest';
import { expectLikeReference, type ReferenceUpdate } from './testing/optimizer-reference.js';
import { adamw } from './adamw.js';

const formula =
  (lr: number, b1: number, b2: number, eps: number, decayOf: (name: string) => number): ReferenceUpdate =>
  ({ name, w, state }, g, t) => {
    const [m, v] = [state('m'), state('v')];
    g.forEach((x, i) => {
      m[i] = b1 * m[i]! + (1 - b1) * x;
      v[i] = b2 * v[i]! + (1 - b2) * x * x;
      const direction = m[i]! / (1 - b1 ** t) / (Math.sqrt(v[i]! / (1 - b2 ** t)) + eps);
      w[i] = w[i]! - lr * decayOf(name) * w[i]! - lr * direction;
    });
  };

describe('adamw follows its formula', () => {
  it('with its defaults', () =>
    expectLikeReference(
      () => adamw(),
      formula(0.001, 0.9, 0.999, 1e-8, () => 0.01),
    ));

  it('with options and weights that do not decay', () =>
    expectLikeReference(
      () =>
        adamw({
          learningRate: 0.05,
          beta1: 0.8,
          beta2: 0.9,
          epsilon: 1e-3,
          weightDecay: 0.1,
          excludeFromWeightDecay: ['/[12]$'],
        }),
      formula(0.05, 0.8, 0.9, 1e-3, (name) => (/[12]$/.test(name) ? 0 : 0.1)),
    ));

  it('without decay', () =>
    expectLikeReference(
      () => adamw({ weightDecay: 0 }),
      formula(0.001, 0.9, 0.999, 1e-8, () => 0),
    ));
});
