import { defineConfig, type Options } from 'tsup';

/** How every package is built: one ESM file an entry; `tsc -b` writes the types beside it. */
export const base = {
  entry: ['src/index.ts'],
  format: 'esm',
  target: 'node20',
  platform: 'node',
  sourcemap: true,
  splitting: true,
  // Chunks of earlier builds have other names, and would be published. Types are tsc's.
  clean: ['!**/*.d.ts', '!**/*.d.ts.map'],
  silent: true,
} satisfies Options;

export default defineConfig(base);
