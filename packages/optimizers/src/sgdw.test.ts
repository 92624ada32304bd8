import { describe, it } from 'vitest';
import { expectLikeReference, type ReferenceUpdate } from './testing/optimizer-reference.js';
import { sgdw } from './sgdw.js';

const formula =
  (lr: number, momentum: number, nesterov: boolean, decayOf: (name: string) => number): ReferenceUpdate =>
  ({ name, w, state }, g) => {
    const a = state('a');
    g.forEach((x, i) => {
      a[i] = momentum * a[i]! + x;
      const direction = nesterov ? x + momentum * a[i] : a[i];
      w[i] = w[i]! * (1 - lr * decayOf(name)) - lr * direction;
    });
  };

describe('sgdw follows its formula', () => {
  it('with its defaults', () =>
    expectLikeReference(
      () => sgdw(),
      formula(0.01, 0, false, () => 0),
    ));

  it('with decay', () =>
    expectLikeReference(
      () => sgdw({ weightDecay: 0.5 }),
      formula(0.01, 0, false, () => 0.5),
    ));

  it('with momentum', () =>
    expectLikeReference(
      () => sgdw({ learningRate: 0.1, momentum: 0.9, weightDecay: 0.1 }),
      formula(0.1, 0.9, false, () => 0.1),
    ));

  it("with Nesterov's momentum, and weights that do not decay", () =>
    expectLikeReference(
      () =>
        sgdw({
          learningRate: 0.1,
          momentum: 0.7,
          nesterov: true,
          weightDecay: 0.1,
          excludeFromWeightDecay: (name) => name.endsWith('0'),
        }),
      formula(0.1, 0.7, true, (name) => (name.endsWith('0') ? 0 : 0.1)),
    ));
});
