// Builds the platform package of this machine, `@acc/native-linux-x64`: the prebuilt addon for each
// supported release line of torch. `npm run build:native-packages` runs it. It uses what the cache
// has, fetches each missing libtorch, and needs a compiler.
//
// For a libtorch with CUDA of a line that this machine has, with the headers of NCCL, it also builds an
// addon with NCCL for this version of CUDA, such as `torch-2.13-cu130`.
//
//   --torch 2.13     only this line; may be repeated
//   --out <folder>   the folder of the package (default: .native-packages)
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { root, runMain } from '../process.mjs';
import { requireBaseline } from './symbol-versions.mjs';

const CPU_PLATFORM = `${process.platform}-${process.arch}`;

/** The default folder of {@link buildPackage}. */
export const DEFAULT_OUT = join(root, '.native-packages');

function readManifest() {
  return JSON.parse(readFileSync(join(root, 'packages', 'native', 'package.json'), 'utf8'));
}

/**
 * A build of the release line for a version of CUDA on this machine, beside the headers of NCCL.
 *
 * @param plain The addon without NCCL.
 */
function findCudaLibtorch(native, line, plain) {
  const installs = native.describeSearch().candidates.flatMap(({ install }) => install ?? []);
  const ofLine = installs.filter(
    ({ variant, version }) => /^cu\d+$/.test(variant) && version.startsWith(`${line}.`),
  );
  const found = ofLine.find((install) => native.ncclState(install, plain) === 'buildable');
  if (!found && ofLine.length > 0)
    console.log(`… torch ${line}: ${ofLine[0].root} has no headers of CUDA and NCCL, so no addon with NCCL`);
  return found;
}

/** A CPU build of the release line: one of this machine, otherwise one that is fetched. */
async function provideLibtorch(native, line) {
  const isOfLine = ({ install }) => install?.variant === 'cpu' && install.version.startsWith(`${line}.`);
  const found = native.describeSearch().candidates.find(isOfLine)?.install;
  if (found) return found;
  console.log(`… torch ${line}: fetching libtorch`);
  return native.installLibtorch({ version: `${line}.0` });
}

/**
 * Builds for one release line, or uses an earlier build, and puts the two files where @acc/native
 * looks for them.
 */
async function addLine(native, line, folder) {
  const libtorch = await provideLibtorch(native, line);
  const plain = await addAddon(native, { line, libtorch, name: `torch-${line}` }, folder);
  const cuda = findCudaLibtorch(native, line, plain);
  if (!cuda) return [`torch-${line}`];
  const name = `torch-${line}-${cuda.variant}`;
  const addon = await addAddon(native, { line, libtorch: cuda, name }, folder);
  if (native.ncclState(cuda, addon) !== 'linked') throw new Error(`${name} was built without NCCL.`);
  return [`torch-${line}`, name];
}

async function addAddon(native, { line, libtorch, name }, folder) {
  const onProgress = ({ message, log }) => console.log(`… torch ${line}: ${message}, log ${log}`);
  const addon = await native.buildAddon(libtorch, { onProgress });
  const target = join(folder, name);
  mkdirSync(target, { recursive: true });
  for (const file of [addon.native, addon.loader]) {
    const asked = process.platform === 'linux' ? requireBaseline(file) : {};
    copyFileSync(file, join(target, basename(file)));
    console.log(`✓ ${name}: ${basename(file)} ${JSON.stringify(asked)}`);
  }
  return addon;
}

function writeTexts(folder, lines, files) {
  const { version, license, repository, engines, publishConfig } = readManifest();
  const manifest = {
    name: `@acc/native-${CPU_PLATFORM}`,
    version,
    description: `The addon of @acc/native, built for ${CPU_PLATFORM}`,
    keywords: ['tensorflow.js', 'tfjs', 'libtorch', 'pytorch', 'native-addon', 'n-api', 'prebuilt'],
    license,
    repository,
    os: [process.platform],
    cpu: [process.arch],
    ...(process.platform === 'linux' && { libc: ['glibc'] }),
    engines,
    files,
    preferUnplugged: true,
    publishConfig,
  };
  const readme = `# ${manifest.name}

The addon of [@acc/native](https://www.npmjs.com/package/@acc/native), built for ${CPU_PLATFORM} and torch ${lines.join(', ')}. npm installs it with
@acc/native; programs don't import it.
`;
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
  writeFileSync(join(folder, 'README.md'), readme);
  copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
}

/** @returns {Promise<string>} the folder of the complete package. */
export async function buildPackage({ lines, out = DEFAULT_OUT }) {
  const native = await import(pathToFileURL(join(root, 'packages', 'native', 'dist', 'index.js')));
  const known = native.RELEASE_LINES;
  const chosen = lines ?? known;
  const unknown = chosen.filter((line) => !known.includes(line));
  if (unknown.length > 0)
    throw new Error(`--torch ${unknown.join(', ')}: supported are ${known.join(', ')}.`);
  const folder = join(resolve(out), CPU_PLATFORM);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const files = [];
  for (const line of chosen) files.push(...(await addLine(native, line, folder)));
  writeTexts(folder, chosen, files);
  return folder;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  await runMain(async () => {
    const { values } = parseArgs({
      options: { torch: { type: 'string', multiple: true }, out: { type: 'string' } },
    });
    console.log(`✓ ${await buildPackage({ lines: values.torch, out: values.out })}`);
  });
}
