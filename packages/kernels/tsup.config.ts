import { defineConfig } from 'tsup';
import { base, exactly, importedByName, namedExports } from '../../tsup.base.js';

const CPU = '@tensorflow/tfjs-backend-cpu';

export default defineConfig({
  ...base,
  entry: [
    ...base.entry,
    'src/optimizer-steps.ts',
    'src/register.ts',
    'src/tfjs-backend-cpu.ts',
    'src/tfjs-backend-cpu.node.ts',
  ],
  noExternal: [...base.noExternal, exactly(CPU)],
  esbuildPlugins: [
    namedExports(CPU),
    importedByName(CPU, '@acc/kernels/tfjs-backend-cpu'),
    ...base.esbuildPlugins,
  ],
});
