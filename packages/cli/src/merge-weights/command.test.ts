import { describe, expect, it } from 'vitest';
import { runAcc } from '../../fixtures/run-acc.js';
import { formatSize, parseSize } from './command.js';

describe('sizes', () => {
  it.each([
    ['100', 100],
    ['5GB', 5e9],
    ['1.5 mb', 1.5e6],
    ['2KB', 2000],
  ])('%s', (text, bytes) => expect(parseSize(text)).toBe(bytes));

  it.each(['', '0', '-1', 'GB', '5 gigabytes', '1e3'])('refuses %j', (text) => {
    expect(() => parseSize(text)).toThrowError(
      expect.objectContaining({ code: 'commander.invalidArgument' }),
    );
  });

  it.each([
    [0, '0 B'],
    [999, '999 B'],
    [1_200_000_000, '1.2 GB'],
  ])('formats %i bytes as %s', (bytes, text) => expect(formatSize(bytes)).toBe(text));
});

describe('acc merge-weights', () => {
  it('names the checkpoint that it did not find', async () => {
    const { code, stderr } = await runAcc(['merge-weights', '/no/such/checkpoint', '/no/such/folder']);
    expect(code).toBe(2);
    expect(stderr).toContain('ACC_CHECKPOINT_NOT_FOUND');
    expect(stderr).not.toMatch(/^ {4}at /m);
  });

  it('refuses an invalid size', async () => {
    const { code, stderr } = await runAcc(['merge-weights', 'a', 'b', '--max-shard-size', 'big']);
    expect(code).toBe(2);
    expect(stderr).toContain('ACC_BAD_OPTION');
  });
});
