import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { resultsOfRanks } from '@acc/testkit';
import { expect, it } from 'vitest';

it('the program comes first, then variables, then the config file, on two ranks', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'acc-configured-'));
  const text = 'accelerator:\n  gradientAccumulationSteps: 4\n  mixedPrecision: fp16\n';
  writeFileSync(join(cwd, 'acc.yaml'), text);
  const results = await resultsOfRanks({
    script: join(import.meta.dirname, 'ranks/configured.ts'),
    ranks: 2,
    cwd,
    env: {
      OMP_NUM_THREADS: '1',
      ACC_MIXED_PRECISION: 'bf16',
      ACC_STRATEGY: 'ddp',
      ACC_COMMAND_LINE: 'ACC_STRATEGY',
    },
  });
  rmSync(cwd, { recursive: true });
  for (const result of results) {
    expect(result).toEqual([
      { steps: 4, numProcesses: 2, dtype: 'bf16' },
      { steps: 2, numProcesses: 2, dtype: 'float32' },
      { code: 'ACC_OPTIONS_DISAGREE' },
    ]);
  }
});
