import { readFile, realpath } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { dirname, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  build,
  transform,
  type OnLoadResult,
  type OnResolveArgs,
  type OnResolveResult,
  type Plugin,
} from 'esbuild';
import type { BundleOptions } from './bundle-options.js';
import { commonJsFacade } from './commonjs-packages.js';
import { whileEsbuildRuns } from './esbuild-runs.js';

/** Does the work of `bundleModule`, which loads esbuild only when it is called. */
export async function writeBundle(text: string, { into, conditions }: BundleOptions): Promise<void> {
  await whileEsbuildRuns(() =>
    build({
      stdin: { contents: text, loader: 'ts', resolveDir: dirname(into) },
      outfile: into,
      bundle: true,
      platform: 'node',
      format: 'esm',
      target: `node${process.versions.node}`,
      conditions: [...conditions],
      keepNames: true,
      treeShaking: false,
      // Node.js would read a map that the file refers to, in each thread.
      sourcemap: 'external',
      sourcesContent: false,
      plugins: [installedPackages],
      logLevel: 'silent',
    }),
  );
}

const FACADE = 'facade';
/** Marks the request of the plugin itself. */
const RESOLVING = 'resolving';

const installedPackages: Plugin = {
  name: 'installed-packages',
  setup({ onResolve, onLoad, resolve }) {
    const facades = new Map<string, Promise<string | undefined>>();
    onResolve({ filter: /^[^./#]/ }, async (request): Promise<OnResolveResult | undefined> => {
      const { path, importer, resolveDir, kind, pluginData } = request;
      if (pluginData === RESOLVING) return undefined;
      if (isBuiltin(path)) return { path, external: true };
      const found = await resolve(path, { importer, resolveDir, kind, pluginData: RESOLVING });
      // A package that may be missing, which the program finds out by itself.
      if (found.errors.length > 0) return { path, external: true };
      const file = await realpath(found.path);
      if (!file.includes(`${sep}node_modules${sep}`)) return { path: file };
      const known = facades.get(file) ?? facadeOf(request);
      facades.set(file, known);
      const facade = await known;
      if (facade === undefined) return { path: pathToFileURL(file).href, external: true };
      return { path: file, namespace: FACADE, pluginData: facade };
    });
    onLoad({ filter: /.*/, namespace: FACADE }, ({ pluginData }) => ({ contents: pluginData as string }));
    onLoad({ filter: /\.[mc]?[jt]s$/ }, ({ path }) => withOwnMeta(path));
  },
};

async function facadeOf({ path, importer, resolveDir, kind }: OnResolveArgs): Promise<string | undefined> {
  if (kind === 'require-call') return undefined;
  return commonJsFacade(path, importer || `${resolveDir}${sep}start.mjs`, new Set());
}

/** A source in which `import.meta` is that of its file, and not that of the bundle. */
async function withOwnMeta(path: string): Promise<OnLoadResult | undefined> {
  const text = await readFile(path, 'utf8');
  if (!text.includes('import.meta')) return undefined;
  const { code } = await transform(text, {
    loader: /ts$/.test(path) ? 'ts' : 'js',
    sourcefile: path,
    sourcemap: 'inline',
    target: `node${process.versions.node}`,
    define: {
      'import.meta.url': JSON.stringify(pathToFileURL(path).href),
      'import.meta.filename': JSON.stringify(path),
      'import.meta.dirname': JSON.stringify(dirname(path)),
    },
  });
  return { contents: code, loader: 'js' };
}
