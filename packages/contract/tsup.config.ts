import { defineConfig } from 'tsup';
import { base, namedExports } from '../../tsup.base.js';

export default defineConfig({
  ...base,
  entry: [...base.entry, 'src/tfjs-core.ts', 'src/tfjs-core.node.ts'],
  esbuildPlugins: [namedExports('@tensorflow/tfjs-core'), ...base.esbuildPlugins],
});
