import { describe, expect, it } from 'vitest';
import { formatSize, parseSize } from './byte-sizes.js';

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
