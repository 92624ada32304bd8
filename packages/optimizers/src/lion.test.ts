import { describe, it } from 'vitest';
import { expectLikeReference, type ReferenceUpdate } from './testing/optimizer-reference.js';
import { lion } from './lion.js';

const formula =
  (lr: number, b1: number, b2: number, decayOf: (name: string) => number): ReferenceUpdate =>
  ({ name, w, state }, g) => {
    const m = state('m');
    g.forEach((x, i) => {
      w[i] = w[i]! - lr * (Math.sign(b1 * m[i]! + (1 - b1) * x) + decayOf(name) * w[i]!);
      m[i] = b2 * m[i]! + (1 - b2) * x;
    });
  };

describe('lion follows its formula', () => {
  it('with its defaults', () =>
    expectLikeReference(
      () => lion(),
      formula(0.0001, 0.9, 0.99, () => 0),
    ));

  it('with options and weights that do not decay', () =>
    expectLikeReference(
      () =>
        lion({
          learningRate: 0.01,
          beta1: 0.7,
          beta2: 0.8,
          weightDecay: 0.3,
          excludeFromWeightDecay: ['/2$', '/4$'],
        }),
      formula(0.01, 0.7, 0.8, (name) => (/[24]$/.test(name) ? 0 : 0.3)),
    ));
});
