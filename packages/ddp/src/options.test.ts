import { describe, expect, it } from 'vitest';
import { resolveDdpOptions, type DdpOptions } from './options.js';

describe('options of ddp', () => {
  it('have defaults', () => {
    expect(resolveDdpOptions()).toEqual({ bucketBytes: 25 * 1024 * 1024, timeoutMs: 300_000 });
  });

  it.each([
    ['an unknown key', { bucketByte: 1 }, 'ACC_UNKNOWN_OPTION'],
    ['a wrong value', { bucketBytes: -1 }, 'ACC_INVALID_OPTION'],
  ])('refuse %s', (_, options, code) => {
    expect(() => resolveDdpOptions(options as DdpOptions)).toThrowError(expect.objectContaining({ code }));
  });
});
