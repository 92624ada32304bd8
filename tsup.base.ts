import { createRequire } from 'node:module';
import { defineConfig, type Options } from 'tsup';

type EsbuildPlugin = NonNullable<Options['esbuildPlugins']>[number];

/**
 * Packages import a large package by a module of ours. For a CommonJS package, it has the names of the
 * exports: Node.js would find them by reading the whole text of the package in each process, which takes
 * 0.15 s of processor time for tfjs-core. For zod, it has the contents: one file in place of 71. Bundlers,
 * and pages, get the package itself.
 *
 * @param specifier What sources import.
 * @param ours What built packages import in its place.
 */
export function importedByName(specifier: string, ours: string): EsbuildPlugin {
  return {
    name: `imports of ${specifier}`,
    setup({ onResolve }) {
      onResolve({ filter: exactly(specifier) }, ({ importer }) =>
        importer.endsWith(`/src/${fileOf(specifier)}.ts`)
          ? { path: specifier, external: true }
          : { path: ours, external: true },
      );
    },
  };
}

/** Writes the module for Node.js, whose source is `src/<name of the package>.node.ts`. */
export function namedExports(specifier: string): EsbuildPlugin {
  return {
    name: `exports of ${specifier}`,
    setup({ onLoad }) {
      onLoad({ filter: new RegExp(`/src/${fileOf(specifier)}\\.node\\.ts$`) }, () => {
        const names = Object.keys(createRequire(import.meta.url)(specifier) as object);
        const contents = [
          `import { createRequire } from 'node:module';`,
          `const loaded = createRequire(import.meta.url)('${specifier}');`,
          `export const {\n${names.map((name) => `  ${name},`).join('\n')}\n} = loaded;\n`,
        ].join('\n');
        return { contents };
      });
    },
  };
}

export const exactly = (specifier: string): RegExp => new RegExp(`^${specifier}$`);
const fileOf = (specifier: string): string => specifier.replace(/^.*\//, '');

const TFJS_CORE = '@tensorflow/tfjs-core';
const ZOD = 'zod';

/** How every package is built: one ESM file an entry; `tsc -b` writes the types beside it. */
export const base = {
  // Modules that have another version for pages stay files of their own (the field `imports`).
  entry: ['src/index.ts', 'src/platform/*.ts', '!src/**/*.test.ts'],
  external: [/^#platform\//],
  // They would stay as they are before a plugin sees them.
  noExternal: [exactly(TFJS_CORE), exactly(ZOD)],
  esbuildPlugins: [
    importedByName(TFJS_CORE, '@acc/contract/tfjs-core'),
    importedByName(ZOD, '@acc/contract/zod'),
  ],
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
