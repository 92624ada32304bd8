import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { environment, randomHex } from '@acc/platform';
import { pathOf, schemeOf } from '../sources/open-source.js';
import type { Source } from '../sources/source.js';
import { claimScan, scanEnded } from './scan-claim.js';

/** The first bytes of an index file. */
const MAGIC = 'acc index 1\n';

/** The data that an index belongs to. If anything differs, the index is made again. */
interface IndexKey {
  readonly format: string;
  readonly location: string;
  readonly bytes: number;
  readonly tag: string;
}

/** The default folder of index files: `data-index` in `ACC_CACHE_DIR`, else in `$XDG_CACHE_HOME/acc` or `~/.cache/acc`. */
export function defaultIndexFolder(): string {
  const { ACC_CACHE_DIR: own, XDG_CACHE_HOME: xdg } = environment();
  return join(own ? resolve(own) : join(xdg || join(homedir(), '.cache'), 'acc'), 'data-index');
}

export interface IndexOptions {
  readonly folder: string;
  /** Scans the file. */
  readonly make: () => Promise<readonly number[]>;
}

/** Waits for the index that another process is making. */
export type LaterIndex = () => Promise<Float64Array>;

/**
 * Where the samples of a file start, and where the last one ends: `[samples + 1]`, in shared memory. It is read from
 * the index file if there is one for this version of the file, else made and stored. Of the processes that share the
 * folder, one makes it, and the others get a {@link LaterIndex}.
 *
 * @param format The format and its options that decide what a sample is.
 */
export async function indexOf(
  source: Source,
  format: string,
  { folder, make }: IndexOptions,
): Promise<Float64Array | LaterIndex> {
  const location = schemeOf(source.name) === 'file' ? resolve(pathOf(source.name)) : source.name;
  const key: IndexKey = { format, location, bytes: source.bytes, tag: source.tag };
  const hash = createHash('sha256').update(`${format}\n${location}`).digest('hex').slice(0, 32);
  const path = join(folder, `${hash}.index`);
  const claim = `${path}.scan`;
  const stored = await readIndex(path, key);
  if (stored) return stored;
  const scan = async (): Promise<Float64Array> => {
    const index = inSharedMemory(await make());
    await storeIndex(path, key, index);
    return index;
  };
  // Takes an index that another process has stored meanwhile. A scan that failed there fails here with its error.
  const readOrScan = async () => (await readIndex(path, key)) ?? (await scan());
  const claimed = await claimScan(claim).catch(cannotShare);
  if (claimed === 'other') {
    return async () => {
      await using _ = await scanEnded(claim).catch(cannotShare);
      return await readOrScan();
    };
  }
  await using _ = claimed;
  return await readOrScan();
}

/** Without a folder, each process scans. That an index cannot be stored is reported. */
const cannotShare = (): undefined => undefined;

function inSharedMemory(starts: readonly number[]): Float64Array {
  const index = new Float64Array(new SharedArrayBuffer(starts.length * 8));
  index.set(starts);
  return index;
}

async function readIndex(path: string, key: IndexKey): Promise<Float64Array | undefined> {
  let content: Buffer;
  try {
    content = await readFile(path);
  } catch {
    return undefined;
  }
  const head = headOf(key);
  const body = content.length - head.length;
  if (body < 8 || body % 8 !== 0 || !content.subarray(0, head.length).equals(head)) return undefined;
  const memory = new SharedArrayBuffer(body);
  new Uint8Array(memory).set(content.subarray(head.length));
  const index = new Float64Array(memory);
  // A damaged index is made again.
  return isAscending(index, key.bytes) ? index : undefined;
}

function isAscending(index: Float64Array, end: number): boolean {
  let before = 0;
  for (const start of index) {
    if (!(Number.isSafeInteger(start) && start >= before && start <= end)) return false;
    before = start;
  }
  return true;
}

/** The file is complete or absent, whoever else writes it. */
async function storeIndex(path: string, key: IndexKey, index: Float64Array): Promise<void> {
  const temporary = `${path}.${randomHex(8)}`;
  try {
    await mkdir(join(path, '..'), { recursive: true });
    const body = new Uint8Array(index.buffer);
    await writeFile(temporary, Buffer.concat([headOf(key), body]));
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    const { message } = error as Error;
    process.stderr.write(
      `acc data: the index of ${key.location} could not be stored, so the next start makes it again: ${message}\n`,
    );
  }
}

function headOf(key: IndexKey): Buffer {
  return Buffer.from(`${MAGIC}${JSON.stringify(key)}\n`);
}
