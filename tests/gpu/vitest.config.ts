import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { LEFT_OUT } from './left-out.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const source = { conditions: ['@acc/source'] };

const gone = LEFT_OUT.filter(({ file }) => !existsSync(root + file));
if (gone.length > 0) throw new Error(`left-out.ts: not there: ${gone.map(({ file }) => file).join(', ')}`);

/**
 * The unit tests of the kernels and the training of every layer, on the first GPU. `npm run
 * test:gpu`.
 */
export default defineConfig({
  root,
  resolve: source,
  ssr: { resolve: source },
  test: {
    name: 'gpu',
    include: ['packages/kernels/src/**/*.test.ts', 'tests/layers-parity/*.test.ts', 'tests/gpu/*.test.ts'],
    exclude: LEFT_OUT.map(({ file }) => file),
    setupFiles: ['tests/gpu/choose-gpu.ts'],
    // Each process creates a context on the GPU, which takes seconds and half a gigabyte of its
    // memory.
    maxWorkers: 8,
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
