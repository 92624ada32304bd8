import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { newProject, type Project } from './project.js';

const runner = join(import.meta.dirname, '../../tfjs-core-specs/run.mjs');
/** All specs take minutes. The others are about values that our gradient driver does not compute. */
const PART = 'gradient';

let project: Project;
beforeAll(async () => {
  project = await newProject();
  await project.setup();
}, 400_000);
afterAll(() => project[Symbol.dispose]());

/**
 * Both runs have one list of known failures, which is exact: a listed spec that passes is a failure,
 * too. So as many specs pass with our gradient driver as without it, and the same.
 */
it.each([
  ['in plain tfjs-node', ['--plain']],
  ['with our gradient driver', []],
])("tfjs-core's specs on tensorflow pass as listed, %s", { timeout: 600_000 }, (_, way) => {
  const tfjsNode = join(project.path, 'node_modules', '@tensorflow', 'tfjs-node');
  const part = inject('isRelease') ? [] : ['--filter', PART];
  const args = ['--backend', 'tensorflow', '--tfjs-node', tfjsNode, ...way, ...part];
  const { status, stdout, stderr } = spawnSync(process.execPath, [runner, ...args], {
    encoding: 'utf8',
    // TensorFlow takes oneDNN by itself only on a CPU with AVX-512, and its own kernels refuse other specs.
    env: { ...process.env, TF_CPP_MIN_LOG_LEVEL: '2', TF_ENABLE_ONEDNN_OPTS: '1' },
  });
  expect(status, stdout + stderr).toBe(0);
  expect(stdout).toMatch(/[1-9]\d* passed, 0 failed\s*$/);
});
