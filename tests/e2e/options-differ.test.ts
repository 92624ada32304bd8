import { expect, it } from 'vitest';
import { runRanks } from '@acc/testkit';

const script = new URL('./ranks/options-differ.ts', import.meta.url);

it('options and settings of optimizers that must be equal are compared, and named on every rank', async () => {
  const results = await runRanks<Record<string, string>>({ script, ranks: 2 });
  for (const { result, stderr } of results) {
    const names = Object.keys(result ?? {});
    expect(result, stderr).toEqual(Object.fromEntries(names.map((name) => [name, name])));
    expect(names).toHaveLength(20);
  }
});
