import { AccError } from '@acc/contract';
import { createHash } from 'node:crypto';
import { createWriteStream, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { openPromise, type Entry, type ZipFile } from 'yauzl';
import { asDiskError, makeCacheFolder, requireFreeSpace } from './disk.js';
import { parseVersionPy } from './inspect.js';
import { parseTorchVersion, type TorchVersion } from './version.js';
import { checkAgainstRecord, parseWheelRecord, type WheelRecord } from './wheel-record.js';

/** An open libtorch archive or torch wheel. The caller closes it. */
export interface TorchArchive {
  readonly kind: 'archive' | 'wheel';
  readonly torch: TorchVersion;
  /** Bytes that {@link unpackTorchArchive} will write. */
  readonly unpackedBytes: number;
  readonly zip: ZipFile;
  readonly wanted: readonly Entry[];
  /** The checksums in the wheel. An archive has none. */
  readonly record: WheelRecord | undefined;
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
 * Files up to this size are written in one call. It covers nearly all of the ten thousand headers,
 * and halves the time.
 */
const WHOLE_FILE_BYTES = 1024 * 1024;

/**
 * Opens a zip and determines its kind. It reads the list of files, but not their contents.
 *
 * @throws AccError `ACC_LIBTORCH_INVALID` if it is neither a libtorch archive nor a torch wheel.
 */
export async function openTorchArchive(path: string): Promise<TorchArchive> {
  let zip: ZipFile;
  try {
    zip = await openPromise(path, { autoClose: false, lazyEntries: true });
  } catch (error) {
    throw invalid(path, `it is not a readable zip (${(error as Error).message})`, error);
  }
  try {
    return await readTorchArchive(path, zip);
  } catch (error) {
    zip.close();
    throw error;
  }
}

async function readTorchArchive(path: string, zip: ZipFile): Promise<TorchArchive> {
  const entries = new Map<string, Entry>();
  for await (const entry of zip.eachEntry()) entries.set(entry.fileName, entry);
  const kind = KINDS.find(({ versionFile }) => entries.has(versionFile));
  if (!kind) {
    const looked = KINDS.map(({ versionFile }) => versionFile).join(' and ');
    throw invalid(path, `it is neither a libtorch archive nor a torch wheel: it does not contain ${looked}`);
  }
  const read = async (name: string) => text(await zip.openReadStreamPromise(entries.get(name)!));
  const torch = kind.parse(await read(kind.versionFile));
  if (!torch) throw invalid(path, `its file ${kind.versionFile} does not state a version`);
  const recordName = [...entries.keys()].find((name) => /^torch-[^/]+\.dist-info\/RECORD$/.test(name));
  if (kind.kind === 'wheel' && !recordName) throw invalid(path, 'it is a wheel without a RECORD');
  const wanted = [...entries.values()].filter(({ fileName }) => targetOf(fileName) !== undefined);
  if (wanted.some(isLink)) throw invalid(path, 'it contains symbolic links');
  return {
    kind: kind.kind,
    torch,
    unpackedBytes: wanted.reduce((sum, { uncompressedSize }) => sum + uncompressedSize, 0),
    zip,
    wanted,
    record: kind.kind === 'wheel' ? parseWheelRecord(await read(recordName!)) : undefined,
  };
}

/**
 * Writes libraries, headers and the version file to the new folder `folder`. Files of a wheel are
 * checked against its RECORD.
 *
 * @throws AccError `ACC_CHECKSUM_MISMATCH`, `ACC_LIBTORCH_INVALID` (damaged zip), `ACC_DISK_FULL`,
 * `ACC_CACHE_NOT_WRITABLE`. The caller must then remove the files that were already written.
 */
export async function unpackTorchArchive(
  archive: TorchArchive,
  folder: string,
  onBytes?: (doneBytes: number, totalBytes: number) => void,
): Promise<void> {
  await requireFreeSpace(makeCacheFolder(folder), archive.unpackedBytes);
  const folders = new Set<string>();
  let done = 0;
  for (const entry of archive.wanted) {
    const target = join(folder, targetOf(entry.fileName)!);
    try {
      if (!folders.has(dirname(target))) await mkdir(dirname(target), { recursive: true });
      folders.add(dirname(target));
      const sha256 = await unpackFile(archive.zip, entry, target);
      if (archive.record) checkAgainstRecord(archive.record, entry.fileName, sha256);
    } catch (error) {
      throw unpackError(error, entry.fileName, target);
    }
    onBytes?.((done += entry.uncompressedSize), archive.unpackedBytes);
  }
}

/** Writes one file and returns the SHA-256 of its content. */
async function unpackFile(zip: ZipFile, entry: Entry, target: string): Promise<Buffer> {
  const hash = createHash('sha256');
  const stream = await zip.openReadStreamPromise(entry);
  if (entry.uncompressedSize <= WHOLE_FILE_BYTES) {
    const content = await buffer(stream);
    writeFileSync(target, content);
    return hash.update(content).digest();
  }
  stream.on('data', (chunk: Buffer) => hash.update(chunk));
  await pipeline(stream, createWriteStream(target));
  return hash.digest();
}

/** The path of a file relative to the install folder. Undefined if the file is not needed. */
function targetOf(fileName: string): string | undefined {
  const prefix = KINDS.map((kind) => kind.prefix).find((known) => fileName.startsWith(known));
  if (!prefix || fileName.endsWith('/')) return undefined;
  const path = fileName.slice(prefix.length);
  if (path === 'version.py' || path === 'build-version' || path.startsWith('include/')) return path;
  const library = /^lib\/([^/]+)$/.exec(path)?.[1];
  return library && !UNNEEDED.some((pattern) => pattern.test(library)) ? path : undefined;
}

/**
 * Whether an entry is a symbolic link. The upper half of a Unix zip's attributes is `st_mode`,
 * which contains the file type.
 */
function isLink(entry: Entry): boolean {
  return ((entry.externalFileAttributes >>> 16) & 0o170000) === 0o120000;
}

function unpackError(error: unknown, name: string, target: string): unknown {
  const known = asDiskError(error, target);
  if (known instanceof AccError) return known;
  return invalid(name, `unpacking failed (${(error as Error).message})`, error);
}

function invalid(path: string, reason: string, cause?: unknown): AccError {
  return new AccError('ACC_LIBTORCH_INVALID', `${path} cannot be used: ${reason}.`, {
    help: "Give PyTorch's libtorch archive (.zip) or a torch wheel (.whl): npx acc setup --from <file>",
    cause,
    details: { path },
  });
}
