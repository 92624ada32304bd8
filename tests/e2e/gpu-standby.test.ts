import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '..', '..');

it.each(['scripts/gpu/test.mjs', 'scripts/gpu/bench.mjs'])(
  '%s fails with a reason if there is no GPU',
  (script) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [script], {
      cwd: root,
      encoding: 'utf8',
      // Hides the GPUs of the machine.
      env: { ...process.env, CUDA_VISIBLE_DEVICES: '' },
    });
    expect(status).toBe(1);
    expect(stderr).toContain('ACC_NO_GPU');
    expect(stdout).not.toMatch(/passed|ours/);
  },
);
