import * as tf from '@tensorflow/tfjs';
import { describe, expect, it } from 'vitest';
import { expectSameAsCpu } from '../testing/compare.js';
import { secondGradients, valueAndGradients, wave } from '../testing/function-gradients.js';
import { gelu } from './gelu.js';

const x = (): tf.Tensor => wave([3, 17]).mul(4);

describe.each(['none', 'tanh'] as const)('gelu, approximate: %s', (approximate) => {
  const f = (t: tf.Tensor) => gelu(t, { approximate });

  it('has the values and gradients of the formula in tfjs operators', async () => {
    await expectSameAsCpu(() => valueAndGradients(f, [x()]), { atol: 2e-6 });
  });

  it('has the second gradients of the formula in tfjs operators', async () => {
    await expectSameAsCpu(() => secondGradients(f, [x()]), { atol: 1e-5 });
  });
});

describe('gelu', () => {
  it('is x·Φ(x)', async () => {
    await tf.setBackend('acc');
    const [none, tanh] = [gelu(tf.scalar(1)), gelu(tf.scalar(1), { approximate: 'tanh' })];
    expect(none.dataSync()[0]).toBeCloseTo(0.841345, 6);
    expect(tanh.dataSync()[0]).toBeCloseTo(0.841192, 6);
  });

  it.each([
    ['an unknown option', () => gelu(x(), { aproximate: 'tanh' } as object), 'ACC_UNKNOWN_OPTION'],
    ['another value', () => gelu(x(), { approximate: 'tan' as 'tanh' }), 'ACC_INVALID_OPTION'],
    ['integers', () => gelu(tf.scalar(1, 'int32')), 'ACC_DTYPE_UNSUPPORTED'],
  ])('refuses %s', (_, run, code) => {
    expect(run).toThrow(expect.objectContaining({ code }));
  });
});
