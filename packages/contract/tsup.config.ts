import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { defineConfig, type Options } from 'tsup';
import { base, exactly, namedExports } from '../../tsup.base.js';

const LIBRARY = 'fastest-levenshtein';

/**
 * Makes the library part of the built file: ranks start without a search for it, and bundlers find it.
 * The source map has no path of it, which would be another one where the package is installed.
 */
const contained: NonNullable<Options['esbuildPlugins']>[number] = {
  name: `contents of ${LIBRARY}`,
  setup({ onLoad, onResolve }) {
    onResolve({ filter: exactly(LIBRARY) }, () => ({ path: LIBRARY, namespace: 'virtual' }));
    onLoad({ filter: exactly(LIBRARY), namespace: 'virtual' }, async () => {
      const path = createRequire(import.meta.url).resolve(`${LIBRARY}/esm/mod.js`);
      const license = await readFile(createRequire(import.meta.url).resolve(`${LIBRARY}/LICENSE.md`), 'utf8');
      return { contents: `/*!\n${LIBRARY}\n${license}*/\n${await readFile(path, 'utf8')}` };
    });
  },
};

export default defineConfig({
  ...base,
  entry: [...base.entry, 'src/tfjs-core.ts', 'src/tfjs-core.node.ts'],
  noExternal: [...base.noExternal, exactly(LIBRARY)],
  esbuildPlugins: [contained, namedExports('@tensorflow/tfjs-core'), ...base.esbuildPlugins],
});
