// Packs and publishes every package as npm would, without a registry, and checks the result: publint
// its manifest, attw its types, and this script the list of its files. `npm run check:packages`
// builds first.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { problemAffectsResolutionKind } from '@arethetypeswrong/core/problems';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { FOR_TESTS } from '../../scripts/packed-package.mjs';

const root = join(import.meta.dirname, '..', '..');
const execute = promisify(execFile);

/** Files that every package contains. */
const REQUIRED = ['package.json', 'README.md', 'LICENSE', 'dist/index.js', 'dist/index.d.ts'];
/** Files that any package may contain. */
const EXPECTED = [
  /^(package\.json|README\.md|LICENSE)$/,
  /^bin\/[\w-]+\.js$/,
  /^dist\/.*\.(js|js\.map|d\.ts|d\.ts\.map)$/,
  /^src\/.*\.(ts|md)$/,
];
/** Additional files of single packages. */
const EXPECTED_IN = {
  native: [/^binding\.gyp$/, /^cpp\/.*\.(c|cpp|h|inc|md)$/],
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
async function publishDry(names) {
  const registry = createServer((_, response) => response.writeHead(404).end('{}')).listen(0, '127.0.0.1');
  await once(registry, 'listening');
  const workspaces = names.map((name) => `--workspace=packages/${name}`);
  // `npm pack` has run the scripts. Without a tag npm publishes no beta.
  const options = [
    '--ignore-scripts',
    '--tag=beta',
    `--registry=http://127.0.0.1:${registry.address().port}`,
  ];
  try {
    const { result, stderr } = await npm(['publish', '--dry-run', ...workspaces, ...options]);
    // npm repairs manifests without failing: "npm auto-corrected some errors in your package.json".
    const warnings = stderr.split('\n').filter((line) => /^npm warn publish "/.test(line));
    return {
      published: result,
      corrections: stderr.includes('auto-corrected') ? ['npm pkg fix', ...warnings] : [],
    };
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
      .filter((path) => FOR_TESTS.test(path) || !expected.some((pattern) => pattern.test(path)))
      .map((path) => `packed without need: ${path}`),
    ...(license?.size === statSync(join(root, 'LICENSE')).size
      ? []
      : ['LICENSE is not that of the repository']),
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
    ...(await problemsOfManifest(tarball)),
    ...(await problemsOfTypes(tarball)),
  ];
}

const target = mkdtempSync(join(tmpdir(), 'acc-packed-'));
const names = readdirSync(join(root, 'packages'));
const folders = names.map((name) => join(root, 'packages', name));
const { result: packed } = await npm([
  'pack',
  '--loglevel=error',
  `--pack-destination=${target}`,
  ...folders,
]);
// npm publishes in another process, at the same time.
const publishing = publishDry(names);
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
