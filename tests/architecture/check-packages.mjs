// Packs every package as npm would publish it, and checks the result: publint its manifest, attw
// its types, and this script the list of its files. `npm run check:packages` builds first.
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { FOR_TESTS } from '../../scripts/packed-package.mjs';

const root = join(import.meta.dirname, '..', '..');
const tool = (name) => join(root, 'node_modules', '.bin', name);
const execute = promisify(execFile);

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
  'create-acc-tracker': [/^template\//],
};

/** @returns {Promise<string>} the problems, or '' if there are none. */
async function problemsOf(command, args) {
  try {
    await execute(command, args, { cwd: root });
    return '';
  } catch ({ stdout, stderr }) {
    return `${stdout}${stderr}`.trim() || `${command} failed`;
  }
}

function unexpectedFiles(name, paths) {
  const expected = [...EXPECTED, ...(EXPECTED_IN[name] ?? [])];
  return paths
    .filter((path) => FOR_TESTS.test(path) || !expected.some((pattern) => pattern.test(path)))
    .map((path) => `packed without need: ${path}`);
}

/** @returns {Promise<string>} the problems of one package. */
async function checkPackage(name, { filename, files }, target) {
  const paths = files.map(({ path }) => path);
  const problems = [
    ...unexpectedFiles(name, paths),
    await problemsOf(tool('publint'), [join('packages', name), '--strict']),
    // esm-only: Node from 20.19 can also `require` such packages.
    await problemsOf(tool('attw'), [join(target, filename), '--profile', 'esm-only']),
  ];
  return problems.filter(Boolean).join('\n');
}

const target = mkdtempSync(join(tmpdir(), 'acc-packed-'));
const names = readdirSync(join(root, 'packages'));
const folders = names.map((name) => join(root, 'packages', name));
const { stdout } = await execute(
  'npm',
  ['pack', '--json', '--loglevel=error', '--pack-destination', target, ...folders],
  { maxBuffer: 2 ** 26 },
);
const packed = JSON.parse(stdout.slice(stdout.indexOf('[')));
let failed = 0;
for (const [i, name] of names.entries()) {
  const text = await checkPackage(name, packed[i], target);
  if (text) failed++;
  console.log(text ? `✗ packages/${name}\n${text}` : `✓ packages/${name}`);
}
rmSync(target, { recursive: true });
console.log(`${names.length - failed} passed, ${failed} failed`);
process.exitCode = failed > 0 || names.length === 0 ? 1 : 0;
