import { expect, it } from 'vitest';
import { checkRanksOnHost } from './oversubscription.js';

const GIB = 2 ** 30;
const small = { cores: 2, memoryBytes: 24 * GIB };
const check = (nproc: number, host = small, oversubscribe = false) =>
  checkRanksOnHost({ nproc, oversubscribe }, host);
const refusal = (why: string, help: string): Error =>
  expect.objectContaining({
    code: 'ACC_BAD_OPTION',
    message: expect.stringContaining(why) as string,
    help: expect.stringContaining(help) as string,
  }) as Error;
const byCores = refusal('2 cores, and', 'at most 16, such as one for each core (-n auto). To');

it('refuses more ranks than a host can run, by its cores and by its memory', () => {
  expect(() => check(1000)).toThrow(byCores);
  expect(() => check(17)).toThrow(byCores);
  expect(check(64, { cores: 64, memoryBytes: 256 * GIB })).toBeUndefined();
  expect(() => check(64, { cores: 64, memoryBytes: 4 * GIB })).toThrow(
    // One for each core would be too many, too.
    refusal('4.0 GiB of memory, and', 'Start at most 32. To start 64 nevertheless: --oversubscribe.'),
  );
});

it('warns of ranks that share cores, and says nothing of few ranks', () => {
  expect(check(8)).toBeUndefined();
  expect(check(8, { cores: 1, memoryBytes: GIB / 2 })).toBeUndefined();
  expect(check(16)).toContain('16 ranks share 2 cores');
});

it('lets the option decide', () => {
  expect(check(1000, small, true)).toBeUndefined();
});
