import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
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

/** Makes zod one file, which Node.js loads faster than 71. Of its languages, it has the one it starts with. */
const ownZod: NonNullable<Options['esbuildPlugins']>[number] = {
  name: 'contents of zod',
  setup({ onLoad }) {
    onLoad({ filter: /\/zod\/v4\/locales\/index\.js$/ }, () => ({
      contents: `export { default as en } from './en.js';`,
    }));
    onLoad({ filter: /\/zod\/index\.js$/ }, async ({ path }) => {
      const license = await readFile(join(dirname(path), 'LICENSE'), 'utf8');
      return { contents: `/*!\nzod\n${license}*/\n${await readFile(path, 'utf8')}` };
    });
  },
};

export default defineConfig([
  {
    ...base,
    entry: [...base.entry, 'src/tfjs-core.ts', 'src/tfjs-core.node.ts', 'src/zod.ts'],
    noExternal: [...base.noExternal, exactly(LIBRARY)],
    esbuildPlugins: [contained, namedExports('@tensorflow/tfjs-core'), ...base.esbuildPlugins],
  },
  {
    ...base,
    entry: ['src/zod.node.ts'],
    esbuildPlugins: [ownZod],
    // It would have paths of zod's files, which are other ones where the package is installed.
    sourcemap: false,
    clean: false,
    splitting: false,
  },
]);
