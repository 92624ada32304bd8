import { closeSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { crc32, hostName } from '@acc/platform';
import { encodeHeader } from '../format/safetensors.js';
import { hexOf, type RankRecord } from '../format/manifest.js';
import { UNFINISHED } from '../storage/unfinished.js';
import { keyOf } from '../write/items.js';
import { CHUNK_BYTES, partOf } from '../write/write-rank.js';
import { byteLengthOf, type SnapshotItem, type RunSnapshot } from './run-snapshot.js';
import { freeBytesOf, memoryLacks } from './memory.js';
import { encodeRecord, rescueNames } from './record.js';

/** The rank that keeps its run, and where. */
export interface Keeper {
  /** A folder in the memory of the host, which only ranks of the job use. */
  readonly folder: string;
  readonly round: number;
  readonly rank: number;
  /** Whether all ranks have the same parameters. One rank of a host then writes them. */
  readonly isReplicated: boolean;
  readonly parameters: readonly string[];
}

export interface WrittenRescue {
  /** Whether it has all that this rank held. False: another rank of the host writes the rest. */
  readonly isAll: boolean;
  readonly bytes: number;
}

/**
 * Writes a held run into the memory of the host. It does not wait for anything but the device, so
 * it also runs where an error is thrown, or in the handler of a signal. A file that was not written
 * completely is never read.
 *
 * @throws AccError `ACC_RESCUE_FAILED` if they do not fit. The errors of the file system.
 */
export function writeRescue(held: RunSnapshot, keeper: Keeper): WrittenRescue {
  const { folder, round, rank, isReplicated, parameters } = keeper;
  const { info, shared, local, own, common } = held;
  const claim = join(folder, rescueNames.claim(round, info.step));
  const writesAll = !isReplicated || isFirst(claim);
  const items = writesAll ? [...common, ...own] : own;
  const neededBytes = byteLengthOf(items);
  const lack = () => memoryLacks(folder, { neededBytes, freeBytes: freeBytesOf(folder) });
  try {
    if (neededBytes > freeBytesOf(folder)) throw lack();
    const written = writeTensors(join(folder, rescueNames.tensors(round, rank)), items);
    const kept: RankRecord = { ...written, shared: writesAll ? shared : null, local };
    const record = { round, rank, host: hostName(), info, parameters, kept };
    replace(join(folder, rescueNames.record(round, rank)), (file) => writeAll(file, encodeRecord(record)));
    return { isAll: writesAll, bytes: written.file?.bytes ?? 0 };
  } catch (error) {
    // Another rank of the host may have what this one cannot write.
    if (writesAll && isReplicated) rmSync(claim, { force: true });
    // Others may have taken the memory in the meantime.
    throw (error as NodeJS.ErrnoException).code === 'ENOSPC' ? lack() : error;
  }
}

/** Whether this is the first rank of its host and round that cannot keep its state for lack of memory. */
export function isFirstRefusal(folder: string, round: number): boolean {
  return isFirst(join(folder, rescueNames.refusal(round)));
}

/** Whether this is the first rank of the host that creates the file. */
function isFirst(path: string): boolean {
  try {
    closeSync(openSync(path, 'wx', 0o600));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function writeTensors(path: string, held: readonly SnapshotItem[]): Pick<RankRecord, 'file' | 'parts'> {
  if (held.length === 0) return { file: undefined, parts: [] };
  const name = path.slice(path.lastIndexOf('/') + 1);
  const keyed = held.map(({ item }) => ({ key: keyOf(item), dtype: item.dtype, shape: item.sizes }));
  const { bytes: header, entries } = encodeHeader(keyed, { format: 'acc' });
  const parts: RankRecord['parts'][number][] = [];
  replace(path, (file) => {
    writeAll(file, header);
    held.forEach(({ item, tensor }, i) => {
      using opened = item.openNow!(tensor);
      parts.push(partOf(item, entries[i]!, name, writeChecked(file, opened.bytes)));
    });
  });
  const { start, byteLength } = entries.at(-1)!;
  return { file: { name, bytes: start + byteLength }, parts };
}

/** @returns The checksum of each chunk. */
function writeChecked(file: number, bytes: Uint8Array): string[] {
  const sums: string[] = [];
  for (let start = 0; start < bytes.length; start += CHUNK_BYTES) {
    const chunk = bytes.subarray(start, start + CHUNK_BYTES);
    sums.push(hexOf(crc32(chunk)));
    writeAll(file, chunk);
  }
  return sums;
}

/** Writes a file beside its place, and puts it there when it is complete. */
function replace(path: string, write: (file: number) => void): void {
  const unfinished = path + UNFINISHED;
  const file = openSync(unfinished, 'w', 0o600);
  try {
    write(file);
    renameSync(unfinished, path);
  } catch (error) {
    rmSync(unfinished, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
}

function writeAll(file: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length;) done += writeSync(file, bytes, done);
}
