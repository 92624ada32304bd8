import { expect, it } from 'vitest';
import { checkRanksOnHost } from './oversubscription.js';

const GIB = 2 ** 30;
const small = { cores: 2, memoryBytes: 24 * GIB };
const check = (nproc: number, host = small, oversubscribe = false) =>
  checkRanksOnHost({ nproc, oversubscribe }, host);
const refused = expect.objectContaining({
  code: 'ACC_BAD_OPTION',
  help: expect.stringContaining('--oversubscribe') as string,
}) as Error;

it('refuses more ranks than a host can run, by its cores and by its memory', () => {
  expect(() => check(1000)).toThrow(refused);
  expect(() => check(17)).toThrow(refused);
  expect(check(64, { cores: 64, memoryBytes: 256 * GIB })).toBeUndefined();
  expect(() => check(64, { cores: 64, memoryBytes: 4 * GIB })).toThrow(refused);
});

it('warns of ranks that share cores, and says nothing of few ranks', () => {
  expect(check(8)).toBeUndefined();
  expect(check(8, { cores: 1, memoryBytes: GIB / 2 })).toBeUndefined();
  expect(check(16)).toContain('16 ranks share 2 cores');
});

it('lets the option decide', () => {
  expect(check(1000, small, true)).toBeUndefined();
});
