import { AccError } from '@acc/contract';
import { parseVersionPy } from './inspect.js';
import { parseTorchVersion, type TorchVersion } from './version.js';
import {
  openZip,
  readRecord,
  readZipText,
  selectFiles,
  unpackZip,
  type OpenZip,
  type Unpacking,
} from './zip.js';

/** An open libtorch archive or torch wheel. The caller closes `zip`. */
export interface TorchArchive extends Unpacking {
  readonly kind: 'archive' | 'wheel';
  readonly torch: TorchVersion;
}

/** The top folder in the zip, and the file that states the version, for each kind. */
const KINDS = [
  { kind: 'wheel', prefix: 'torch/', versionFile: 'torch/version.py', parse: parseVersionPy },
  { kind: 'archive', prefix: 'libtorch/', versionFile: 'libtorch/build-version', parse: parseTorchVersion },
] as const;

/**
 * Libraries for Python, tests and static linking. They are a third of the total size and are never
 * loaded.
 */
const UNNEEDED = [/^libtorch_python/, /^libshm/, /test/, /_custom_ops/, /backend_with_compiler/, /\.a$/];

/**
 * Opens a zip and determines its kind. It reads the list of files, but not their contents.
 *
 * @throws AccError `ACC_LIBTORCH_INVALID` if it is neither a libtorch archive nor a torch wheel.
 */
export async function openTorchArchive(path: string): Promise<TorchArchive> {
  const open = await openZip(path, refuse);
  try {
    return await readTorchArchive(path, open);
  } catch (error) {
    open.zip.close();
    throw error;
  }
}

async function readTorchArchive(path: string, open: OpenZip): Promise<TorchArchive> {
  const kind = KINDS.find(({ versionFile }) => open.entries.has(versionFile));
  if (!kind) {
    const looked = KINDS.map(({ versionFile }) => versionFile).join(' and ');
    throw refuse(path, `it is neither a libtorch archive nor a torch wheel: it does not contain ${looked}`);
  }
  const torch = kind.parse(await readZipText(open, kind.versionFile));
  if (!torch) throw refuse(path, `its file ${kind.versionFile} does not state a version`);
  const record = kind.kind === 'wheel' ? await readRecord(open, 'torch') : undefined;
  if (kind.kind === 'wheel' && !record) throw refuse(path, 'it is a wheel without a RECORD');
  const files = selectFiles(open, targetOf, () => refuse(path, 'it contains symbolic links'));
  return { kind: kind.kind, torch, zip: open.zip, files, record, refuse };
}

/**
 * Writes libraries, headers and the version file to the new folder `folder`. Files of a wheel are
 * checked against its RECORD.
 *
 * @throws AccError `ACC_CHECKSUM_MISMATCH`, `ACC_LIBTORCH_INVALID` (damaged zip), `ACC_DISK_FULL`,
 * `ACC_CACHE_NOT_WRITABLE`. The caller must then remove the files that were already written.
 */
export const unpackTorchArchive = (
  archive: TorchArchive,
  folder: string,
  onBytes?: (doneBytes: number, totalBytes: number) => void,
): Promise<void> => unpackZip(archive, folder, onBytes);

/** The path of a file relative to the install folder. Undefined if the file is not needed. */
function targetOf(fileName: string): string | undefined {
  const prefix = KINDS.map((kind) => kind.prefix).find((known) => fileName.startsWith(known));
  if (!prefix || fileName.endsWith('/')) return undefined;
  const path = fileName.slice(prefix.length);
  if (path === 'version.py' || path === 'build-version' || path.startsWith('include/')) return path;
  const library = /^lib\/([^/]+)$/.exec(path)?.[1];
  return library && !UNNEEDED.some((pattern) => pattern.test(library)) ? path : undefined;
}

function refuse(path: string, reason: string, cause?: unknown): AccError {
  return new AccError('ACC_LIBTORCH_INVALID', `${path} cannot be used: ${reason}.`, {
    help: "Give PyTorch's libtorch archive (.zip) or a torch wheel (.whl): npx acc setup --from <file>",
    cause,
    details: { path },
  });
}
