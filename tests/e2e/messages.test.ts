import { expect, it } from 'vitest';
import { resultsOfRanks } from '@acc/testkit';

interface Report {
  readonly done: readonly boolean[];
  readonly equal: readonly boolean[];
}

it('messages of 8 MiB are sent before their receiver asks, others in order when it does', async () => {
  const script = new URL('./ranks/messages.ts', import.meta.url);
  const env = { OMP_NUM_THREADS: '1' };
  const [sent, received] = await resultsOfRanks<Report[]>({ script, ranks: 2, env });
  const [few, many] = sent!.map(({ done }) => done);
  expect(few).toEqual(new Array(8).fill(true));
  expect(many![0]).toBe(true);
  expect(many!.at(-1)).toBe(false);
  expect(received!.map(({ equal }) => equal)).toEqual([new Array(8).fill(true), new Array(24).fill(true)]);
});
