import { defineConfig } from 'tsup';

/** How every package is built: one ESM file an entry; `tsc -b` writes the types beside it. */
export default defineConfig((overrides) => ({
  entry: ['src/index.ts'],
  format: 'esm',
  target: 'node20',
  platform: 'node',
  sourcemap: true,
  splitting: true,
  clean: false,
  silent: true,
  ...overrides,
}));
