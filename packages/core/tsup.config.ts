import { defineConfig } from 'tsup';
import { base } from '../../tsup.base.js';

export default defineConfig([
  { ...base, entry: [...base.entry, 'src/pipeline.ts'] },
  {
    ...base,
    entry: { 'self-check/run': 'src/self-check/run.ts' },
    // It uses the package as programs do: one copy of its state.
    external: ['../index.js'],
    clean: false,
    splitting: false,
  },
]);
