import { createRequire } from 'node:module';
import { defineConfig, type Options } from 'tsup';
import { base } from '../../tsup.base.js';

/** Writes out the exports of tfjs-core, which Node.js loads as a CommonJS module. */
const namedExports: NonNullable<Options['esbuildPlugins']>[number] = {
  name: 'named-exports',
  setup({ onLoad }) {
    onLoad({ filter: /\btfjs-core\.node\.ts$/ }, () => {
      const names = Object.keys(createRequire(import.meta.url)('@tensorflow/tfjs-core') as object);
      const contents = [
        `import { createRequire } from 'node:module';`,
        `const core = createRequire(import.meta.url)('@tensorflow/tfjs-core');`,
        `export const {\n${names.map((name) => `  ${name},`).join('\n')}\n} = core;\n`,
      ].join('\n');
      return { contents };
    });
  },
};

export default defineConfig({
  ...base,
  entry: [...base.entry, 'src/tfjs-core.ts', 'src/tfjs-core.node.ts'],
  noExternal: [],
  esbuildPlugins: [namedExports],
});
