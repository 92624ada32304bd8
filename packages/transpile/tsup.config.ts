import { defineConfig } from 'tsup';
import { base } from '../../tsup.base.js';

export default defineConfig([
  base,
  {
    ...base,
    // Every rank loads them, so each is one file.
    entry: ['src/rank.ts', 'src/hooks.ts'],
    clean: false,
    splitting: false,
  },
]);
