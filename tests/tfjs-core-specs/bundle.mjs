import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as esbuild from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '../..');
const require = createRequire(import.meta.url);
const tfjsCoreManifest = require.resolve('@tensorflow/tfjs-core/package.json');

export const buildFolder = join(here, 'build');
export const tfjsVersion = require(tfjsCoreManifest).version;

const OPTIONS = {
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  mainFields: ['module', 'main'],
  conditions: ['@acc/source'],
  // tfjs-core declares few of its modules as having side effects, and its specs are not among them.
  ignoreAnnotations: true,
  // @acc/native finds its addon relative to its own folder and does not need tfjs-core, so it is
  // loaded at run time.
  external: ['jasmine-core', '@acc/native'],
  // The output is a folder, so that deep imports resolve. `mainFields` then selects the modules
  // that the specs import relatively.
  alias: { '@tensorflow/tfjs-core': dirname(tfjsCoreManifest) },
  banner: {
    js: "import { createRequire as __cr } from 'node:module'; const require = __cr(import.meta.url);",
  },
  legalComments: 'none',
  logLevel: 'silent',
  metafile: true,
  write: false,
};

/**
 * Bundles tfjs-core's specs with `backend` and one copy of tfjs-core, or finds an earlier bundle of
 * the same sources. For the backend `tensorflow`, `tfjsNode` is the folder of tfjs-node.
 *
 * @returns {Promise<string>} Path of an ES module that exports `defineSpecs({device})`.
 * @throws Error if a source or package is missing. The message names the command to run.
 */
export async function bundleSpecs(backend, tfjsNode) {
  if (backend === 'acc') checkAccPackages();
  const outfile = join(buildFolder, `specs.${backend}.mjs`);
  const keyFile = `${outfile}.key.json`;
  if (existsSync(outfile) && isFresh(keyFile)) return outfile;

  const { outputFiles, metafile } = await esbuild
    .build({
      ...OPTIONS,
      ...(tfjsNode && { alias: aliasesFor(tfjsNode) }),
      absWorkingDir: root,
      entryPoints: [join(here, 'entries', `${backend}.mjs`)],
      outfile,
    })
    .catch((failure) => {
      throw new Error(explain(backend, failure), { cause: failure });
    });
  const inputs = Object.keys(metafile.inputs);
  checkOneEngine(inputs);
  mkdirSync(buildFolder, { recursive: true });
  replaceFile(outfile, outputFiles[0].contents);
  replaceFile(keyFile, JSON.stringify(keyOf(inputs.filter(isOurs)), null, 1));
  return outfile;
}

const aliasesFor = (tfjsNode) => ({
  ...OPTIONS.alias,
  '@tensorflow/tfjs-node': tfjsNode,
  '@tensorflow/tfjs': join(here, 'entries', 'tfjs-of-es5.mjs'),
});

/**
 * The inputs of a bundle: versions of packages, options, and the content of the sources of this
 * repository.
 */
function keyOf(sources) {
  const versions = Object.fromEntries(
    ['@tensorflow/tfjs-core', '@tensorflow/tfjs-backend-cpu', 'esbuild'].map((name) => [
      name,
      require(`${name}/package.json`).version,
    ]),
  );
  const digest = (path) =>
    createHash('sha256')
      .update(readFileSync(join(root, path)))
      .digest('hex');
  return {
    versions,
    // The alias is a path of this machine. It is left out, because versions and sources already
    // determine the bundle.
    options: { ...OPTIONS, alias: undefined },
    sources: Object.fromEntries(sources.map((path) => [path, digest(path)])),
  };
}

function isFresh(keyFile) {
  if (!existsSync(keyFile)) return false;
  const text = readFileSync(keyFile, 'utf8');
  const sources = Object.keys(JSON.parse(text).sources);
  return (
    sources.every((path) => existsSync(join(root, path))) && JSON.stringify(keyOf(sources), null, 1) === text
  );
}

const isOurs = (path) => !path.split('/').includes('node_modules');

/** Two copies of tfjs-core are two engines: the specs would not see the backend's kernels. */
function checkOneEngine(inputs) {
  const engines = inputs.filter((path) => /tfjs-core\/dist\/(engine|tf-core[^/]*)\.js$/.test(path));
  if (engines.length !== 1)
    throw new Error(`The bundle must hold tfjs-core once; it holds ${engines.join(', ')}.`);
}

function checkAccPackages() {
  const needed = [
    ['packages/kernels/src/index.ts', 'is missing from the checkout'],
    ['packages/native/dist/index.js', 'is not built'],
    ['packages/contract/dist/index.js', 'is not built'],
  ];
  const absent = needed.filter(([path]) => !existsSync(join(root, path)));
  if (absent.length === 0) return;
  const what = absent.map(([path, state]) => `${path} ${state}`).join('; ');
  throw new Error(`The backend acc is not available: ${what}.\n→ npm run setup && npm run build`);
}

function explain(backend, failure) {
  const first = failure.errors?.slice(0, 5).map((error) => {
    const where = error.location
      ? `${relative(root, join(root, error.location.file))}:${error.location.line}: `
      : '';
    return `  ${where}${error.text}`;
  });
  return `The specs could not be bundled for ${backend}:\n${first?.join('\n') ?? failure.message}`;
}

/**
 * Writes a temporary file and renames it, so that a run at the same time never loads an incomplete
 * bundle.
 */
function replaceFile(path, contents) {
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, contents);
  renameSync(draft, path);
}
