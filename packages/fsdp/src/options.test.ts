import { describe, expect, it } from 'vitest';
import { comparedOptions, resolveFsdpOptions } from './options.js';

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
      offload: undefined,
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
    [
      { offload: { optimizer: true }, stage: 1 },
      { params: false, optimizer: true, to: 'cpu' },
    ],
    [{ offload: { params: true, to: '/a' } }, { params: true, optimizer: false, to: '/a' }],
    [{ cpuOffload: true }, { params: true, optimizer: true, to: 'cpu' }],
    [{ cpuOffload: false }, undefined],
    [{ cpuOffload: false, stage: 'NO_SHARD' }, undefined],
    [
      { cpuOffload: false, offload: { params: true, to: '/a' } },
      { params: true, optimizer: false, to: '/a' },
    ],
  ] as const)('resolve offload: %o', (options, offload) => {
    expect(resolveFsdpOptions(options).offload).toEqual(offload);
  });

  it('are the same on all ranks, but for the folder', () => {
    const compared = (to: string) =>
      comparedOptions(resolveFsdpOptions({ offload: { optimizer: true, to } }))['offload'];
    expect(compared('/a')).toEqual(compared('/b'));
    expect(compared('/a')).not.toEqual(compared('cpu'));
  });

  it.each([
    ['an unknown option of offload', { offload: { optimiser: true } }, 'ACC_UNKNOWN_OPTION'],
    ['an offload of nothing', { offload: {} }, 'ACC_INVALID_OPTION'],
    ['a folder without a use', { offload: { to: '/a', params: false } }, 'ACC_INVALID_OPTION'],
    ['a folder without a name', { offload: { params: true, to: '' } }, 'ACC_INVALID_OPTION'],
    ['parameters in files that are whole in memory', { stage: 2, cpuOffload: true }, 'ACC_INVALID_OPTION'],
    ['the same for a folder', { stage: 1, offload: { params: true, to: '/a' } }, 'ACC_INVALID_OPTION'],
    [
      'two ways to say it',
      { cpuOffload: true, offload: { optimizer: true, to: '/a' } },
      'ACC_INVALID_OPTION',
    ],
    [
      'offload where nothing is sharded',
      { stage: 'NO_SHARD', offload: { optimizer: true, to: '/a' } },
      'ACC_INVALID_OPTION',
    ],
    ['the same for host memory', { stage: 'NO_SHARD', cpuOffload: true }, 'ACC_INVALID_OPTION'],
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
