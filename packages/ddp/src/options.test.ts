import { describe, expect, it } from 'vitest';
import { resolveDdpOptions, type DdpOptions } from './options.js';

describe('options of ddp', () => {
  it('have defaults', () => {
    expect(resolveDdpOptions()).toEqual({
      bucketBytes: 25 * 1024 * 1024,
      batchNorm: 'broadcast',
      syncAt: 'backward',
      syncEachBatch: false,
      findUnused: true,
    });
  });

  it('can name batch normalisation in two ways', () => {
    expect(resolveDdpOptions({ syncBatchNorm: true }).batchNorm).toBe('sync');
    expect(resolveDdpOptions({ syncBatchNorm: false }).batchNorm).toBe('broadcast');
  });

  it.each([
    ['an unknown key', { bucketByte: 1 }, 'ACC_UNKNOWN_OPTION'],
    ['a wrong value', { bucketBytes: -1 }, 'ACC_INVALID_OPTION'],
    ['an unknown hook', { commHook: 'powersgd' }, 'ACC_INVALID_OPTION'],
    ['an unknown option of a hook', { commHook: { name: 'topK', k: 1 } }, 'ACC_UNKNOWN_OPTION'],
    ['an option of a hook that has none', { commHook: { name: 'bf16', rank: 1 } }, 'ACC_UNKNOWN_OPTION'],
    ['a contradiction', { batchNorm: 'local', syncBatchNorm: true }, 'ACC_INVALID_OPTION'],
    ['a wrong value of a hook', { commHook: { name: 'topK', ratio: 0 } }, 'ACC_INVALID_OPTION'],
  ])('refuse %s', (_, options, code) => {
    expect(() => resolveDdpOptions(options as DdpOptions)).toThrowError(expect.objectContaining({ code }));
  });
});
