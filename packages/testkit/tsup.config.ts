import { defineConfig } from 'tsup';
import { base } from '../../tsup.base.js';

export default defineConfig({
  ...base,
  entry: {
    index: 'src/index.ts',
    'detectors/index': 'src/detectors/index.ts',
    'storages/index': 'src/storages/index.ts',
    'continuous/host': 'src/continuous/host.ts',
    'strategies/index': 'src/strategies/index.ts',
    'threads/index': 'src/threads/index.ts',
    // The module that threads run.
    'threads/serve-thread': 'src/threads/serve-thread.ts',
  },
});
