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

/** An open libtorch archive or torch wheel. Whoever opens it closes it. */
export interface TorchArchive {
  readonly kind: 'archive' | 'wheel';
  readonly torch: TorchVersion;
  /** Bytes that {@link unpackTorchArchive} will write. */
  readonly unpackedBytes: number;
  readonly zip: ZipFile;
  readonly wanted: readonly Entry[];
  /** A wheel's own checksums; an archive has none. */
  readonly record: WheelRecord | undefined;
}

/** The folder in the zip that everything lies in, and the file in it that states the version. */
const KINDS = [
  { kind: 'wheel', prefix: 'torch/', versionFile: 'torch/version.py', parse: parseVersionPy },
  { kind: 'archive', prefix: 'libtorch/', versionFile: 'libtorch/build-version', parse: parseTorchVersion },
] as const;

/** Libraries for Python, tests and static linking: a third of the files' size, and nothing here loads them. */
const UNNEEDED = [/^libtorch_python/, /^libshm/, /test/, /_custom_ops/, /backend_with_compiler/, /\.a$/];

/** Up to this size a file is written in one go: nearly all of the ten thousand headers, for half the time. */
const WHOLE_FILE_BYTES = 1024 * 1024;

/**
 * Opens a zip and looks what it is. Its list of files is read, its contents not yet.
 *
 * @throws AccError `ACC_LIBTORCH_INVALID` when it is neither a libtorch archive nor a torch wheel.
 */
export async function openTorchArchive(path: string): Promise<TorchArchive> {
  let zip: ZipFile;
  try {
    zip = await openPromise(path, { autoClose: false, lazyEntries: true });
  } catch (error) {
    throw invalid(path, `it is no readable zip (${(error as Error).message})`, error);
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
    throw invalid(path, `it is no libtorch archive and no torch wheel: looked in it for ${looked}`);
  }
  const read = async (name: string) => text(await zip.openReadStreamPromise(entries.get(name)!));
  const torch = kind.parse(await read(kind.versionFile));
  if (!torch) throw invalid(path, `${kind.versionFile} in it states no version`);
  const recordName = [...entries.keys()].find((name) => /^torch-[^/]+\.dist-info\/RECORD$/.test(name));
  if (kind.kind === 'wheel' && !recordName) throw invalid(path, 'it is a wheel without a RECORD');
  const wanted = [...entries.values()].filter(({ fileName }) => targetOf(fileName) !== undefined);
  if (wanted.some(isLink)) throw invalid(path, 'it holds symbolic links');
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
 * Writes libraries, headers and the version file below `folder`, which is created; a wheel's files are checked against its RECORD.
 *
 * @throws AccError `ACC_CHECKSUM_MISMATCH`, `ACC_LIBTORCH_INVALID` (damaged zip), `ACC_DISK_FULL`,
 *   `ACC_CACHE_NOT_WRITABLE`. What was written until then stays for the caller to remove.
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

/** Writes one file and gives the sha256 of what was written. */
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

/** Where a file of the zip goes below the install folder; undefined when it is not needed. */
function targetOf(fileName: string): string | undefined {
  const prefix = KINDS.map((kind) => kind.prefix).find((known) => fileName.startsWith(known));
  if (!prefix || fileName.endsWith('/')) return undefined;
  const path = fileName.slice(prefix.length);
  if (path === 'version.py' || path === 'build-version' || path.startsWith('include/')) return path;
  const library = /^lib\/([^/]+)$/.exec(path)?.[1];
  return library && !UNNEEDED.some((pattern) => pattern.test(library)) ? path : undefined;
}

/** The upper half of a Unix zip's attributes is `st_mode`; its file type says whether it is a symbolic link. */
function isLink(entry: Entry): boolean {
  return ((entry.externalFileAttributes >>> 16) & 0o170000) === 0o120000;
}

function unpackError(error: unknown, name: string, target: string): unknown {
  const known = asDiskError(error, target);
  if (known instanceof AccError) return known;
  return invalid(name, `unpacking failed (${(error as Error).message})`, error);
}

function invalid(path: string, reason: string, cause?: unknown): AccError {
  return new AccError('ACC_LIBTORCH_INVALID', `${path} can't be used: ${reason}.`, {
    help: "Give PyTorch's libtorch archive (.zip) or a torch wheel (.whl): npx acc setup --from <file>",
    cause,
    details: { path },
  });
}
