// Prepares a clone: packages, build, libtorch, addon. `npm run setup`. Steps that were done before
// are skipped.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isInRange } from './node-range.mjs';
import { root, run, runMain, tool } from './process.mjs';

/** npm's own notes on what it installed, and ours. Relative to the root. */
const INSTALLED = join('node_modules', '.package-lock.json');
const STAMP = join('node_modules', '.acc-setup.json');

/** An error that the user can correct. It is shown with `help`, without a stack. */
class SetupError extends Error {
  constructor(code, message, help) {
    super(`${message}\n→ ${help}`);
    Object.assign(this, { code, help });
  }
}

/**
 * Prepares the clone. Takes less than two seconds if nothing changed.
 *
 * @param {{quiet?: boolean, isPacked?: boolean}} options quiet: prints only steps that did
 * something. isPacked: packages and build come from a pack (`gpu/pack.mjs`), and neither npm nor
 * turbo is available.
 * @returns {Promise<{native: object, libtorch: object, addon: object}>} the package, libtorch and
 * addon that programs will load.
 */
export async function setup({ quiet = false, isPacked = false } = {}) {
  checkNode();
  const step = (name, work) => runStep(name, work, quiet);
  if (!isPacked) {
    await step('packages', installPackages);
    await step('build', buildPackages);
  }
  const native = await import(pathToFileURL(join(root, 'packages', 'native', 'dist', 'index.js')));
  const libtorch = await step('libtorch', (progress) => provideLibtorch(native, progress));
  const addon = await step('addon', (progress) => provideAddon(native, libtorch, progress));
  return { native, libtorch, addon };
}

/**
 * Runs one step. It returns `{result, did, state}`, where `did` says whether there was something to
 * do.
 */
async function runStep(name, work, quiet) {
  const start = performance.now();
  const { result, did, state } = await work((text) => showProgress(name, text));
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  if (did || !quiet) console.log(`✓ ${name.padEnd(9)} ${state} (${seconds} s)`);
  return result;
}

/** On a terminal the line is overwritten. A log gets each different text once. */
function showProgress(name, text) {
  if (process.stdout.isTTY) process.stdout.write(`\r\x1b[K… ${name.padEnd(9)} ${text}\r`);
  else if (!/%$/.test(text)) console.log(`… ${name.padEnd(9)} ${text}`);
}

function checkNode() {
  const { node } = process.versions;
  const range = readJson('package.json').engines.node;
  if (isInRange(node, range)) return;
  throw new SetupError('ACC_NODE_TOO_OLD', `This is Node.js ${node}.`, `Install Node.js ${range}.`);
}

/**
 * Runs `npm install` on the lockfile, which it does not change. `npm ci` would refuse a lockfile
 * whose list of optional packages for other platforms is incomplete.
 */
async function installPackages(progress) {
  if (packagesMatchLock()) return { did: false, state: 'installed' };
  progress('npm install');
  const code = await run('npm', ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error'], {
    onOutput: () => undefined,
  });
  if (code !== 0) {
    throw new SetupError('ACC_SETUP_PACKAGES', `npm install ended with ${code}.`, 'Its message is above.');
  }
  writeFileSync(join(root, STAMP), JSON.stringify(installStamp()));
  return { did: true, state: 'installed' };
}

/** True if this script installed this lockfile, or if npm's own notes match the lockfile. */
function packagesMatchLock() {
  if (!existsSync(join(root, INSTALLED))) return false;
  if (existsSync(join(root, STAMP)) && readText(STAMP) === JSON.stringify(installStamp())) return true;
  const wanted = readJson('package-lock.json').packages;
  const installed = readJson(INSTALLED).packages;
  const isThere = (path, entry) => {
    const found = installed[path] ?? readInstalled(path);
    // Optional packages are for other platforms.
    if (!found) return entry.optional === true;
    return found.version === entry.version && (!found.integrity || found.integrity === entry.integrity);
  };
  return (
    Object.keys(installed).every((path) => path in wanted) &&
    Object.entries(wanted).every(([path, entry]) => !path.includes('node_modules') || isThere(path, entry))
  );
}

/** A key that changes with the lockfile, and whenever npm installs anything. */
function installStamp() {
  const lock = createHash('sha256').update(readText('package-lock.json')).digest('hex');
  return { lock, installedAtMs: statSync(join(root, INSTALLED)).mtimeMs };
}

/** npm's list does not contain the packages in a workspace's own node_modules. */
function readInstalled(path) {
  const manifest = join(path, 'package.json');
  return existsSync(join(root, manifest)) ? { version: readJson(manifest).version } : undefined;
}

/** turbo builds what changed by content, and takes half a second if nothing changed. */
async function buildPackages(progress) {
  if (!existsSync(join(root, 'packages', 'native', 'dist', 'index.js'))) progress('building the packages');
  let output = '';
  const code = await run(tool('turbo'), ['run', 'build', '--ui=stream', '--output-logs=errors-only'], {
    env: { TURBO_TELEMETRY_DISABLED: '1', DO_NOT_TRACK: '1', TURBO_NO_UPDATE_NOTIFIER: '1' },
    onOutput: (text) => (output += text),
  });
  if (code !== 0) {
    console.error(output);
    throw new SetupError('ACC_SETUP_BUILD', `turbo run build ended with ${code}.`, 'Its output is above.');
  }
  return { did: !/FULL TURBO/.test(output), state: 'built' };
}

async function provideLibtorch(native, progress) {
  const found = native.findLibtorch();
  const libtorch =
    found ?? (await native.installLibtorch({ onProgress: (event) => progress(describe(event)) }));
  const { version, variant, root: folder } = libtorch;
  return { result: libtorch, did: !found, state: `torch ${version} (${variant}) in ${folder}` };
}

async function provideAddon(native, libtorch, progress) {
  const found = native.locateAddon(libtorch);
  const onProgress = ({ message, log }) => progress(`${message}, log ${log}`);
  const addon = found ?? (await native.buildAddon(libtorch, { onProgress }));
  return { result: addon, did: !found, state: addon.native };
}

function describe(event) {
  if (event.phase === 'fetch') return `from ${event.source}`;
  if (event.phase === 'note') return event.message;
  const { phase, doneBytes, totalBytes } = event;
  const percent = totalBytes ? `${Math.floor((100 * doneBytes) / totalBytes)} %` : '';
  return `${phase} ${Math.floor(doneBytes / 2 ** 20)} MiB ${percent}`;
}

function readText(path) {
  return readFileSync(join(root, path), 'utf8');
}

function readJson(path) {
  return JSON.parse(readText(path));
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) await runMain(() => setup().then(() => 0));
