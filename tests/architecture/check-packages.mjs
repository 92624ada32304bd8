// Packs and publishes every package as npm would, without a registry, and checks the result: publint
// its manifest, attw its types, and this script the list of its files. `npm run check:packages`
// builds first.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { problemAffectsResolutionKind } from '@arethetypeswrong/core/problems';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { FOR_TESTS } from '../../scripts/packed-package.mjs';
import { HOSTS, hostedBy } from '../../scripts/release/hosts.mjs';
import { publishedFolders as names } from '../../scripts/release/published.mjs';

const root = join(import.meta.dirname, '..', '..');
const execute = promisify(execFile);

/** Files that every package contains. */
const REQUIRED = ['package.json', 'README.md', 'LICENSE', 'dist/index.js', 'dist/index.d.ts'];
const BUILT = /^dist\/.*\.(js|js\.map|d\.ts|d\.ts\.map)$/;
const SOURCE = /^src\/.*\.(ts|md|as)$/;
/** Files of a private package in the tarball of its host. */
const INTERNAL = /^internal\/([\w-]+)\/(.*)$/;
/** Files that any package may contain. */
const EXPECTED = [/^(package\.json|README\.md|LICENSE)$/, /^bin\/[\w-]+\.js$/, BUILT, SOURCE];
/** Additional files of single packages. */
const EXPECTED_IN = {
  native: [/^binding\.gyp$/, /^cpp\/.*(\.(c|cpp|h|inc|md)|\/LICENSE)$/],
  testkit: [/^src\/network\/switch\.c$/],
  'tracker-tensorboard': [/^proto\/.*\.(proto|yaml)$/],
  'create-acc-tracker': [/^template\//, /^GUIDE\.md$/],
};
/** Node from 20.19 can also `require` packages that are ES modules only. */
const RESOLUTIONS = ['node16-esm', 'bundler'];

async function npm(args) {
  const { stdout, stderr } = await execute('npm', [...args, '--json'], { cwd: root, maxBuffer: 2 ** 26 });
  // Before npm's own output are lines of scripts.
  return { result: JSON.parse(stdout.slice(stdout.search(/^[[{]/m))), stderr };
}

/** `npm publish --dry-run` of all packages, at a registry that knows none of them. */
async function publishDry() {
  const registry = createServer((_, response) => response.writeHead(404).end('{}')).listen(0, '127.0.0.1');
  await once(registry, 'listening');
  // Without a tag npm publishes no beta.
  const options = [
    '--ignore-scripts',
    '--tag=beta',
    `--registry=http://127.0.0.1:${registry.address().port}`,
  ];
  const published = {};
  const corrections = [];
  try {
    for (const folder of folders) {
      const { result, stderr } = await npm(['publish', '--dry-run', folder, ...options]);
      Object.assign(published, result.name === undefined ? result : { [result.name]: result });
      // npm repairs manifests without failing: "npm auto-corrected some errors in your package.json".
      const warnings = stderr.split('\n').filter((line) => /^npm warn publish "/.test(line));
      if (stderr.includes('auto-corrected')) corrections.push('npm pkg fix', ...warnings);
    }
    return { published, corrections };
  } finally {
    registry.close();
  }
}

function problemsOfFiles(name, files) {
  const paths = files.map(({ path }) => path);
  const expected = [...EXPECTED, ...(EXPECTED_IN[name] ?? [])];
  const license = files.find(({ path }) => path === 'LICENSE');
  return [
    ...REQUIRED.filter((path) => !paths.includes(path)).map((path) => `missing: ${path}`),
    ...paths
      .filter((path) => !isExpected(name, path, expected))
      .map((path) => `packed without need: ${path}`),
    ...(license?.size === statSync(join(root, 'LICENSE')).size
      ? []
      : ['LICENSE is not that of the repository']),
  ];
}

function isExpected(name, path, expected) {
  const [, hosted, inside] = INTERNAL.exec(path) ?? [];
  if (hosted !== undefined && !hostedBy(name).includes(hosted)) return false;
  const patterns = hosted === undefined ? expected : [BUILT, SOURCE];
  return !FOR_TESTS.test(inside ?? path) && patterns.some((pattern) => pattern.test(inside ?? path));
}

/** Specifiers that only the repository can resolve. */
const PRIVATE = new RegExp(`(['"\`])@acc/(${Object.keys(HOSTS).join('|')})(/[^'"\`]*)?\\1`);

/** The private packages must be those that the host contains, under the names that it gives them. */
function problemsOfNames(name, files) {
  const code = files
    .map(({ path }) => path)
    .filter((path) => /^(?!src|internal\/[\w-]+\/src).*\.(js|d\.ts)$/.test(path));
  return [
    ...hostedBy(name)
      .filter((hosted) => !code.includes(`internal/${hosted}/dist/index.js`))
      .map((hosted) => `missing: internal/${hosted}`),
    ...code
      .filter((path) => PRIVATE.test(readFileSync(join(staged, name, path), 'utf8')))
      .map((path) => `names a private package: ${path}`),
  ];
}

async function problemsOfManifest(tarball) {
  const { messages, pkg } = await publint({
    strict: true,
    pack: { tarball: new Uint8Array(tarball).buffer },
  });
  return messages.map((message) => `publint: ${formatMessage(message, pkg, { color: false })}`);
}

async function problemsOfTypes(tarball) {
  const analysis = await checkPackage(createPackageFromTarballData(new Uint8Array(tarball)));
  if (analysis.types === false) return ['attw: no types'];
  return analysis.problems
    .filter((problem) => RESOLUTIONS.some((kind) => problemAffectsResolutionKind(problem, kind, analysis)))
    .map(({ kind, ...problem }) => `attw: ${kind} ${JSON.stringify({ ...problem, trace: undefined })}`);
}

/** @returns {Promise<string[]>} the problems of one package. */
async function problemsOf(name, { filename, files }) {
  const tarball = readFileSync(join(target, filename));
  return [
    ...problemsOfFiles(name, files),
    ...problemsOfNames(name, files),
    ...(await problemsOfManifest(tarball)),
    ...(await problemsOfTypes(tarball)),
  ];
}

const target = mkdtempSync(join(tmpdir(), 'acc-packed-'));
const staged = join(root, '.packed');
const folders = names.map((name) => join(staged, name));
await execute(process.execPath, [join(root, 'scripts', 'release', 'stage.mjs')]);
const { result: packed } = await npm([
  'pack',
  '--loglevel=error',
  `--pack-destination=${target}`,
  ...folders,
]);
// npm publishes in another process, at the same time.
const publishing = publishDry();
const problems = [];
for (const [i, name] of names.entries()) problems.push(await problemsOf(name, packed[i]));
const { published, corrections } = await publishing;
for (const [i, { name, integrity }] of packed.entries()) {
  if (published[name]?.integrity !== integrity) problems[i].push('npm publish would publish other files');
}
rmSync(target, { recursive: true });

const results = [...names.map((name, i) => [`packages/${name}`, problems[i]]), ['npm publish', corrections]];
for (const [name, found] of results) {
  console.log(`${found.length > 0 ? '✗' : '✓'} ${[name, ...found].join('\n  ')}`);
}
const failed = results.filter(([, found]) => found.length > 0).length;
console.log(`${results.length - failed} passed, ${failed} failed`);
process.exitCode = failed > 0 || names.length === 0 ? 1 : 0;
