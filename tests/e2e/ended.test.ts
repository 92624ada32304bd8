import { expect, it } from 'vitest';
import { runRanks } from '@acc/testkit';

const script = new URL('./ranks/ended.ts', import.meta.url);
const calls = ['prepare', 'accumulate', 'saveState', 'gather', 'waitForEveryone'];
const all = (code: string, names = calls) => Object.fromEntries(names.map((name) => [name, code]));

it.each([1, 2])('calls after freeMemory and endTraining cause the same errors on %i ranks', async (ranks) => {
  const results = await runRanks({ script, ranks });
  for (const { result, exitCode, stderr } of results) {
    expect(result, stderr).toEqual({
      freed: { ...all('ACC_ACCELERATOR_FREED'), gather: 'none', waitForEveryone: 'none' },
      // The program does not await this save.
      saved: true,
      ended: all('ACC_TRAINING_ENDED', [...calls, 'minimize', 'fit']),
    });
    expect(exitCode).toBe(0);
  }
});
