import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const root = fileURLToPath(new URL('../../', import.meta.url));
const source = { conditions: ['@acc/source'] };

/**
 * The unit tests of the kernels and the training of every layer, on a device of tests that is not
 * the CPU. `npm run test:device`.
 */
export default defineConfig({
  root,
  resolve: source,
  ssr: { resolve: source },
  test: {
    name: 'device',
    include: [
      'packages/kernels/src/**/*.test.ts',
      'tests/layers-parity/*.test.ts',
      'tests/device/**/*.test.ts',
    ],
    env: { OMP_WAIT_POLICY: 'passive' },
    setupFiles: ['tests/device/choose-device.ts'],
    globalSetup: ['tests/device/build-device.ts'],
    maxWorkers: '100%',
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
