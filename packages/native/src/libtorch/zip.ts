import { AccError } from '@acc/contract';
import { createHash } from 'node:crypto';
import { createWriteStream, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import type { Entry, ZipFile } from 'yauzl';
import { asDiskError, makeCacheFolder, requireFreeSpace } from './disk.js';
import { checkAgainstRecord, parseWheelRecord, type WheelRecord } from './wheel-record.js';

/** Creates the error for a zip, or a file in it, that cannot be used. `reason` continues "X cannot be used: ". */
export type Refusal = (path: string, reason: string, cause?: unknown) => AccError;

/** An open zip. The caller closes `zip`. */
export interface OpenZip {
  readonly zip: ZipFile;
  readonly entries: ReadonlyMap<string, Entry>;
}

/** The files of a zip to write. */
export interface Unpacking {
  readonly zip: ZipFile;
  /** The files, and their paths relative to the folder to unpack to. */
  readonly files: readonly { readonly entry: Entry; readonly target: string }[];
  /** The checksums in a wheel. Undefined: the files are not checked. */
  readonly record: WheelRecord | undefined;
  readonly refuse: Refusal;
}

/**
 * Files up to this size are written in one call. It covers nearly all headers, and halves the time.
 */
const WHOLE_FILE_BYTES = 1024 * 1024;

/** Opens a zip. It reads the list of files, but not their contents. */
export async function openZip(path: string, refuse: Refusal): Promise<OpenZip> {
  // Ranks start without it: they open no zip.
  const { openPromise } = await import('yauzl');
  let zip: ZipFile;
  try {
    zip = await openPromise(path, { autoClose: false, lazyEntries: true });
  } catch (error) {
    throw refuse(path, `it is not a readable zip (${(error as Error).message})`, error);
  }
  try {
    const entries = new Map<string, Entry>();
    for await (const entry of zip.eachEntry()) entries.set(entry.fileName, entry);
    return { zip, entries };
  } catch (error) {
    zip.close();
    throw refuse(path, `its list of files cannot be read (${(error as Error).message})`, error);
  }
}

/** The content of a file in a zip. It must exist. */
export async function readZipText({ zip, entries }: OpenZip, name: string): Promise<string> {
  return text(await zip.openReadStreamPromise(entries.get(name)!));
}

/** The checksums in a wheel of a package. Undefined if it has none. */
export async function readRecord(open: OpenZip, packageName: string): Promise<WheelRecord | undefined> {
  const pattern = new RegExp(`^${packageName}-[^/]+\\.dist-info/RECORD$`);
  const name = [...open.entries.keys()].find((path) => pattern.test(path));
  return name === undefined ? undefined : parseWheelRecord(await readZipText(open, name));
}

/**
 * Selects the files for which `targetOf` gives a path.
 *
 * @throws the refusal, if one of them is a symbolic link.
 */
export function selectFiles(
  { entries }: OpenZip,
  targetOf: (fileName: string) => string | undefined,
  refuseLinks: () => AccError,
): Unpacking['files'] {
  const files = [...entries.values()].flatMap((entry) => {
    const target = targetOf(entry.fileName);
    return target === undefined ? [] : [{ entry, target }];
  });
  if (files.some(({ entry }) => isLink(entry))) throw refuseLinks();
  return files;
}

/** The bytes that {@link unpackZip} writes. */
export const unpackedBytes = (files: Unpacking['files']): number =>
  files.reduce((sum, { entry }) => sum + entry.uncompressedSize, 0);

/**
 * Writes files of a zip to the new folder `folder`.
 *
 * @throws AccError `ACC_CHECKSUM_MISMATCH`, `ACC_DISK_FULL`, `ACC_CACHE_NOT_WRITABLE`, and the
 * refusal for a damaged zip. The caller must then remove the files that were already written.
 */
export async function unpackZip(
  { zip, files, record, refuse }: Unpacking,
  folder: string,
  onBytes?: (doneBytes: number, totalBytes: number) => void,
): Promise<void> {
  const total = unpackedBytes(files);
  await requireFreeSpace(makeCacheFolder(folder), total);
  const folders = new Set<string>();
  let done = 0;
  for (const { entry, target } of files) {
    const path = join(folder, target);
    try {
      if (!folders.has(dirname(path))) await mkdir(dirname(path), { recursive: true });
      folders.add(dirname(path));
      const sha256 = await unpackFile(zip, entry, path);
      if (record) checkAgainstRecord(record, entry.fileName, sha256);
    } catch (error) {
      const known = asDiskError(error, path);
      if (known instanceof AccError) throw known;
      throw refuse(entry.fileName, `unpacking failed (${(error as Error).message})`, error);
    }
    onBytes?.((done += entry.uncompressedSize), total);
  }
}

/** Writes one file and returns the SHA-256 of its content. */
async function unpackFile(zip: ZipFile, entry: Entry, path: string): Promise<Buffer> {
  const hash = createHash('sha256');
  const stream = await zip.openReadStreamPromise(entry);
  if (entry.uncompressedSize <= WHOLE_FILE_BYTES) {
    const content = await buffer(stream);
    writeFileSync(path, content);
    return hash.update(content).digest();
  }
  stream.on('data', (chunk: Buffer) => hash.update(chunk));
  await pipeline(stream, createWriteStream(path));
  return hash.digest();
}

/**
 * Whether an entry is a symbolic link. The upper half of a Unix zip's attributes is `st_mode`,
 * which contains the file type.
 */
function isLink(entry: Entry): boolean {
  return ((entry.externalFileAttributes >>> 16) & 0o170000) === 0o120000;
}
