import { describe, expect, it } from 'vitest';
import { resolveFsdpOptions } from './options.js';

describe('fsdp options', () => {
  it('have defaults', () => {
    expect(resolveFsdpOptions()).toEqual({
      stage: 3,
      wrap: 'layer',
      bucketBytes: 4 * 1024 * 1024,
      backwardPrefetch: 'pre',
      reshardAfterForward: true,
      limitAllGathers: true,
      isHybrid: false,
      mixedPrecision: {},
    });
  });

  it.each([
    [1, 1],
    [2, 2],
    [3, 3],
    ['NO_SHARD', 0],
    ['SHARD_GRAD_OP', 2],
    ['FULL_SHARD', 3],
    ['HYBRID_SHARD', 3],
  ] as const)('name stage %s by both names', (stage, number) => {
    expect(resolveFsdpOptions({ stage }).stage).toBe(number);
  });

  it.each([
    ['an unknown option', { stages: 3 }, 'ACC_UNKNOWN_OPTION'],
    ['an unknown stage', { stage: 4 }, 'ACC_INVALID_OPTION'],
    ['a policy without a size', { wrap: { exclude: ['embedding'] } }, 'ACC_INVALID_OPTION'],
    ['a policy with an unknown key', { wrap: { minParams: 1, excludes: [] } }, 'ACC_INVALID_OPTION'],
    ['an empty unit', { wrap: [[]] }, 'ACC_INVALID_OPTION'],
    [
      'a prefetch where nothing is gathered in backward',
      { stage: 2, backwardPrefetch: 'pre' },
      'ACC_INVALID_OPTION',
    ],
    ['a unit where nothing is sharded', { stage: 'NO_SHARD', wrap: 'layer' }, 'ACC_INVALID_OPTION'],
    ['a precision that is none', { mixedPrecision: { param: 'bfloat16' } }, 'ACC_INVALID_OPTION'],
    ['an unknown kind of precision', { mixedPrecision: { parameters: 'bf16' } }, 'ACC_UNKNOWN_OPTION'],
    [
      'buffers that nothing rounds',
      { stage: 'NO_SHARD', mixedPrecision: { buffer: 'bf16' } },
      'ACC_INVALID_OPTION',
    ],
    ['a bucket size that joins no units', { wrap: { minParams: 9 }, bucketBytes: 1 }, 'ACC_INVALID_OPTION'],
  ])('refuse %s', (_, options, code) => {
    expect(() => resolveFsdpOptions(options as never)).toThrowError(
      expect.objectContaining({ code }) as Error,
    );
  });
});
