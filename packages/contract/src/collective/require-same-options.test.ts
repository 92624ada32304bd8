import { describe, expect, it } from 'vitest';
import { requireSameOptions } from './require-same-options.js';

/** The result of rank 0's comparison of the ranks' options. */
const compare = (...ranks: Record<string, unknown>[]) =>
  requireSameOptions('ddp', ranks[0]!, { allGatherObject: <T>() => ranks as T[] });

describe('requireSameOptions', () => {
  it('accepts equal options', () => {
    expect(() => compare({ a: 1, b: { c: [2] } }, { a: 1, b: { c: [2] } })).not.toThrow();
  });

  it('names each option that differs, with the value of each rank', () => {
    expect(() => compare({ a: 1, b: 'x', c: 3 }, { a: 2, b: 'x' })).toThrowError(
      expect.objectContaining({
        code: 'ACC_OPTIONS_DIFFER',
        details: expect.objectContaining({ options: ['ddp.a', 'ddp.c'] }) as unknown,
        help: 'Create the Accelerator with the same options on every rank.',
        message: expect.stringMatching(/ddp\.a:\n\s+rank 0: 1\n\s+rank 1: 2\n/) as unknown,
      }),
    );
  });

  it('says where options are given that are not those of create', () => {
    const ranks = [{ a: 1 }, { a: 2 }];
    const gather = { allGatherObject: <T>() => ranks as T[] };
    expect(() => requireSameOptions('pipelined', ranks[0]!, gather, 'Give pipelined …')).toThrowError(
      expect.objectContaining({ help: 'Give pipelined …' }),
    );
  });
});
