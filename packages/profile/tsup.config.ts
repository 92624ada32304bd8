import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { posix } from 'node:path';
import { defineConfig, type Options } from 'tsup';
import { base, exactly } from '../../tsup.base.js';

const LIBRARY = '@bufbuild/protobuf/wire';
const INSIDE = { namespace: 'contained' };
/** Stacks show these paths, and frames in `node_modules` are not the program's. */
const FOLDER = '/node_modules/@bufbuild/protobuf';

/**
 * Makes what is used of the library part of the built file: ranks start without its other files. Each of
 * its files begins with its license. The source map has no path of it, which would be another one where
 * the package is installed.
 */
const contained: NonNullable<Options['esbuildPlugins']>[number] = {
  name: `contents of ${LIBRARY}`,
  setup({ onLoad, onResolve }) {
    const folder = createRequire(import.meta.url)
      .resolve(LIBRARY)
      .replace(/cjs.wire.index\.js$/, 'esm');
    onResolve({ filter: exactly(LIBRARY) }, () => ({
      path: `${FOLDER}/wire/index.js`,
      sideEffects: false,
      ...INSIDE,
    }));
    onResolve({ filter: /^\./, ...INSIDE }, ({ path, importer }) => ({
      path: posix.join(posix.dirname(importer), path),
      sideEffects: false,
      ...INSIDE,
    }));
    onLoad({ filter: /./, ...INSIDE }, async ({ path }) => ({
      contents: await contentsOf(path.replace(FOLDER, folder)),
    }));
  },
};

/** The text of a file, whose first comment stays when the others are left out. */
async function contentsOf(path: string): Promise<string> {
  const text = await readFile(path, 'utf8');
  const [license] = /^(\/\/.*\n)+/.exec(text) ?? [];
  if (license === undefined) throw new Error(`${path} does not begin with its license.`);
  return `/*!\n${license.replaceAll(/^\/\/ ?/gm, '')}*/\n${text.slice(license.length)}`;
}

export default defineConfig({
  ...base,
  noExternal: [...base.noExternal, exactly(LIBRARY)],
  esbuildPlugins: [contained, ...base.esbuildPlugins],
});
