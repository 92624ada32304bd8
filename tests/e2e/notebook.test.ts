import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { installOnce, testCache } from '../installed-once.js';
import { npm, run } from './trackers/packing.js';
import { venv } from './trackers/python/venv.js';

/** Jupyter's kernel for JavaScript and TypeScript. */
const TSLAB = 'tslab@1.0.22';

const CELLS = [
  "import { launch } from '@acc/cli';",
  `const sums = await launch(
  async (rate) => {
    const tf = await import('@tensorflow/tfjs');
    const { Accelerator } = await import('@acc/core');
    const accelerator = await Accelerator.create();
    const sum = accelerator.reduce(tf.scalar(rate * (accelerator.processIndex + 1)), 'sum');
    console.log('hello from', accelerator.processIndex);
    await accelerator.endTraining();
    return sum.dataSync()[0];
  },
  { numProcesses: 2, args: [0.5] },
);
console.log('sums', JSON.stringify(sums));`,
  `const outside = 3;
try {
  await launch(() => outside, { numProcesses: 1 });
} catch (error) {
  console.log('refused', error.cause.message);
}`,
];

async function installedKernel(): Promise<string> {
  const folder = join(testCache(), 'test-projects', TSLAB.replace('@', '-'));
  await installOnce(folder, async () => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'package.json'), '{ "private": true }');
    await npm(['install', '--ignore-scripts', TSLAB], folder);
  });
  return join(folder, 'node_modules', 'tslab', 'bin', 'tslab');
}

it('launch runs a function of a cell on ranks, in a notebook with a JavaScript kernel', async () => {
  const [python, kernel] = await Promise.all([
    venv('notebook'),
    installedKernel(),
    // The kernel reads the types of what a cell imports.
    run(process.execPath, [join(import.meta.dirname, '../../scripts/types.mjs')], import.meta.dirname),
  ]);
  const jupyter = mkdtempSync(join(tmpdir(), 'acc-jupyter-'));
  mkdirSync(join(jupyter, 'kernels', 'jslab'), { recursive: true });
  const argv = [process.execPath, kernel, 'kernel', '--config-path', '{connection_file}', '--js'];
  const spec = { argv, display_name: 'JavaScript', language: 'javascript' };
  writeFileSync(join(jupyter, 'kernels', 'jslab', 'kernel.json'), JSON.stringify(spec));
  const script = join(import.meta.dirname, 'trackers', 'python', 'run_notebook.py');
  const { stdout } = await promisify(execFile)(
    python.bin('python'),
    [script, 'jslab', import.meta.dirname, JSON.stringify(CELLS)],
    { env: { ...process.env, JUPYTER_PATH: jupyter, JUPYTER_RUNTIME_DIR: join(jupyter, 'runtime') } },
  );
  rmSync(jupyter, { recursive: true, force: true });
  const [imported, launched, refused] = JSON.parse(stdout.trim().split('\n').at(-1)!) as string[];
  expect(imported).toBe('');
  expect(launched).toContain('sums [1.5,1.5]');
  for (const rank of [0, 1]) expect(launched).toMatch(new RegExp(`^\\[${rank}\\] hello from ${rank}$`, 'm'));
  expect(refused).toMatch(/refused .*variables from outside of it do not exist: outside/);
}, 600_000);
