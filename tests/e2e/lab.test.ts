import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const lab = fileURLToPath(new URL('../../examples/lab/lab.ts', import.meta.url));
const SIZES = { processes: 2, rows: 480, width: 32, 'batch-size': 48 };

it('reports the same losses, less memory if sharded, and draws a line for each run', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'acc-lab-'));
  const given = Object.entries(SIZES).flatMap(([name, value]) => [`--${name}`, String(value)]);
  await promisify(execFile)(process.execPath, ['--import', import.meta.resolve('tsx'), lab, ...given], {
    cwd,
  });
  const read = (name: string) => readFileSync(join(cwd, 'lab-report', name), 'utf8');
  const rows = read('report.md')
    .split('\n')
    .filter((line) => /^\| (single|ddp|fsdp)/.test(line))
    .map((line) => line.split('|').map((cell) => cell.trim()));
  expect(rows.map(([, name]) => name)).toEqual(['single', 'ddp, 2 processes', 'fsdp, 2 processes']);
  const [resting, sent, difference] = [5, 7, 8].map((cell) => rows.map((row) => Number(row[cell])));
  for (const one of difference!) expect(one).toBeLessThan(1e-4);
  expect(resting![2]).toBeLessThan(resting![1]!);
  // Gradients of 32 · (784 + 32 + 10) weights and 74 biases, once to the other process and back.
  expect(sent![0]).toBe(0);
  expect(sent![1]).toBeCloseTo((4 * (32 * (784 + 32 + 10) + 74)) / 2 ** 20, 2);
  for (const [name, lines] of Object.entries({ loss: 3, scaling: 3, memory: 2 })) {
    expect(read(`${name}.svg`).match(/mark-line/g)).toHaveLength(lines);
  }
  rmSync(cwd, { recursive: true, force: true });
});
