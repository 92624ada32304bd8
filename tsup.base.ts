import { defineConfig, type Options } from 'tsup';

type EsbuildPlugin = NonNullable<Options['esbuildPlugins']>[number];

const TFJS_CORE = /^@tensorflow\/tfjs-core$/;

/**
 * Packages import tfjs-core by a module of `@acc/contract` that has its names. Node.js would find them by
 * reading the whole text of tfjs-core in each process, which takes 0.15 s of processor time.
 */
const tfjsCore: EsbuildPlugin = {
  name: 'tfjs-core',
  setup({ onResolve }) {
    onResolve({ filter: TFJS_CORE }, () => ({ path: '@acc/contract/tfjs-core', external: true }));
  },
};

/** How every package is built: one ESM file an entry; `tsc -b` writes the types beside it. */
export const base = {
  // Modules that have another version for pages stay files of their own (the field `imports`).
  entry: ['src/index.ts', 'src/platform/*.ts', '!src/**/*.test.ts'],
  external: [/^#platform\//],
  // It would stay as it is before a plugin sees it.
  noExternal: [TFJS_CORE],
  esbuildPlugins: [tfjsCore],
  format: 'esm',
  target: 'node20',
  platform: 'node',
  sourcemap: true,
  // The sources are published beside it. A rank reads the maps of all modules.
  esbuildOptions: (options) => void (options.sourcesContent = false),
  splitting: true,
  // Chunks of earlier builds have other names, and would be published. Types are tsc's.
  clean: ['!**/*.d.ts', '!**/*.d.ts.map'],
  silent: true,
} satisfies Options;

export default defineConfig(base);
