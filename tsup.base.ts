import { defineConfig, type Options } from 'tsup';

/** How every package is built: one ESM file an entry; `tsc -b` writes the types beside it. */
export const base = {
  // Modules that have another version for pages stay files of their own (the field `imports`).
  entry: ['src/index.ts', 'src/platform/*.ts', '!src/**/*.test.ts'],
  external: [/^#platform\//],
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
