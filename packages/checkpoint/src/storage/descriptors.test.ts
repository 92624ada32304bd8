import { describe, expect, it } from 'vitest';
import { whenDescriptorIsFree } from './descriptors.js';

/** Opens after the system has refused `times` times. */
function refusing(code: string, times: number) {
  const calls = { count: 0 };
  const open = async () => {
    if (calls.count++ < times) throw Object.assign(new Error(`${code}: refused`), { code });
    return 'opened';
  };
  return { calls, open };
}

describe('opening a file', () => {
  it.each(['EMFILE', 'ENFILE'])('is tried again after %s', async (code) => {
    const { calls, open } = refusing(code, 3);
    expect(await whenDescriptorIsFree('Writing x', open, [1, 1, 1])).toBe('opened');
    expect(calls.count).toBe(4);
  });

  it('fails after the last attempt, with the next step', async () => {
    const { calls, open } = refusing('EMFILE', 4);
    await expect(whenDescriptorIsFree('Writing x', open, [1, 2, 1])).rejects.toMatchObject({
      code: 'ACC_STORAGE_FAILED',
      message: expect.stringMatching(
        /^Writing x failed: .* 4 attempts over 0\.004 s: EMFILE: refused\./,
      ) as string,
      help: expect.stringContaining('ulimit -n') as string,
      cause: { code: 'EMFILE' },
    });
    expect(calls.count).toBe(4);
  });

  it('fails at once for other reasons', async () => {
    const { calls, open } = refusing('EACCES', 1);
    await expect(whenDescriptorIsFree('Writing x', open, [1])).rejects.toMatchObject({ code: 'EACCES' });
    expect(calls.count).toBe(1);
  });
});
