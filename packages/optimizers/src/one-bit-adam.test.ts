import { describe, expect, it } from 'vitest';
import { expectLikeReference, type ReferenceUpdate } from './testing/optimizer-reference.js';
import { oneBitAdam } from './one-bit-adam.js';

const formula =
  (lr: number, b1: number, b2: number, eps: number, warmup: number): ReferenceUpdate =>
  ({ w, state }, g, t) => {
    const [m, v] = [state('m'), state('v')];
    g.forEach((x, i) => {
      m[i] = b1 * m[i]! + (1 - b1) * x;
      if (t <= warmup) v[i] = b2 * v[i]! + (1 - b2) * x * x;
      else if (v[i] === 0) return;
      const direction = m[i]! / (1 - b1 ** t) / (Math.sqrt(v[i]! / (1 - b2 ** Math.min(t, warmup))) + eps);
      w[i] = w[i]! - lr * direction;
    });
  };

describe('oneBitAdam follows its formula', () => {
  it('during warm-up', () => expectLikeReference(() => oneBitAdam(), formula(0.001, 0.9, 0.999, 1e-8, 100)));

  it('with a frozen variance', () =>
    expectLikeReference(
      () => oneBitAdam({ learningRate: 0.02, beta1: 0.8, beta2: 0.9, epsilon: 1e-3, warmupSteps: 4 }),
      formula(0.02, 0.8, 0.9, 1e-3, 4),
    ));

  it.each([0, 1.5])('refuses %d steps of warm-up', (warmupSteps) => {
    expect(() => oneBitAdam({ warmupSteps })).toThrowError(
      expect.objectContaining({ code: 'ACC_INVALID_OPTION' }),
    );
  });
});
