import { expect, it } from 'vitest';
import type { MeshAxis, StrategyContext } from '@acc/contract';
import { gradientNoiseScale } from './gradient-noise-scale.js';

const on = (long: MeshAxis) =>
  ({ mesh: { size: (axis: MeshAxis) => (axis === long ? 2 : 1) } }) as unknown as StrategyContext;

it('refuses ranks that have gradients of shards of samples', () => {
  expect(() => gradientNoiseScale().attach(on('context'))).toThrowError(
    expect.objectContaining({ code: 'ACC_STRATEGY_CANNOT' }),
  );
  expect(() => gradientNoiseScale().attach(on('data'))).not.toThrow();
});
