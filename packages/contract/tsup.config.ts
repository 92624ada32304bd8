import { defineConfig } from 'tsup';
import { base, exactly, namedExports } from '../../tsup.base.js';

export default defineConfig({
  ...base,
  entry: [...base.entry, 'src/tfjs-core.ts', 'src/tfjs-core.node.ts'],
  // Part of the built file: ranks start without a search for it, and bundlers find it.
  noExternal: [...base.noExternal, exactly('fastest-levenshtein')],
  esbuildOptions: (options) => {
    base.esbuildOptions(options);
    options.mainFields = ['module', 'main'];
  },
  esbuildPlugins: [namedExports('@tensorflow/tfjs-core'), ...base.esbuildPlugins],
});
