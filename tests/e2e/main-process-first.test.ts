import { expect, it } from 'vitest';
import { runRanks } from '@acc/testkit';

const script = new URL('./ranks/main-process-first.ts', import.meta.url);

it.each(['throw', 'reject'])(
  'mainProcessFirst releases the other ranks if the main process fails: %s',
  async (how) => {
    const results = await runRanks<string[]>({ script, ranks: 2, args: [how] });
    expect(
      results.map(({ result, exitCode }) => [result, exitCode]),
      results.map(({ stderr }) => stderr).join(''),
    ).toEqual([
      [['no network', '0', '1'], 0],
      [['1', '0', '1'], 0],
    ]);
  },
);
