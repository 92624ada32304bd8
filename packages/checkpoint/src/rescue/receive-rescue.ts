import { closeSync, openSync, readSync, renameSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { AccError, type Collective, type Storage } from '@acc/contract';
import type { StoredFile } from '../format/manifest.js';
import type { Checkpoint } from '../read/open.js';
import { fileStorage } from '../storage/file-storage.js';
import { UNFINISHED } from '../storage/unfinished.js';
import { together } from '../together.js';
import { indexFor, type Rescue, type RescueHost } from './find-rescue.js';

/** The size of a message, in bytes. */
const MESSAGE_BYTES = 4 * 1024 * 1024;

/**
 * Brings the files of a rescue into the memory of every host, and opens it there. Every rank calls
 * it.
 *
 * @throws AccError `ACC_RESCUE_FAILED`, on all ranks, if a host cannot send or keep the files.
 */
export async function receiveRescue(
  rescue: Rescue,
  host: RescueHost,
  collective: Collective,
): Promise<Checkpoint> {
  const problems: unknown[] = [];
  for (const transfer of transfersOf(rescue)) {
    const isReceiver = host.isSpeaker && transfer.to.includes(host.folder);
    const problem = send(transfer, { folder: host.folder, isReceiver, collective });
    if (problem !== undefined) problems.push(problem);
  }
  return await together(collective, () => {
    if (problems.length > 0) throw failed(host.folder, problems[0]);
    const location = { storage: unmapped(fileStorage(host.folder)), prefix: '' };
    return Promise.resolve({ location, index: indexFor(host.folder, rescue) });
  });
}

/**
 * A storage whose files are read, not mapped. A mapped file of a file system in memory keeps its
 * memory for as long as the tensor lives, also after it was deleted.
 */
function unmapped({ pathOf: _, ...storage }: Storage): Storage {
  return storage;
}

/** A file that some hosts need and do not have. */
interface Transfer {
  readonly file: StoredFile;
  /** The rank that sends it. */
  readonly from: number;
  /** The folders of the hosts that need it. */
  readonly to: readonly string[];
}

function transfersOf(rescue: Rescue): Transfer[] {
  const needed = rescue.folders.map(({ folder }) => ({
    folder,
    names: new Set(indexFor(folder, rescue).files.map(({ name }) => name)),
  }));
  return rescue.records.flatMap(({ kept: { file }, folder: owner, speaker }) => {
    if (!file) return [];
    const to = needed.filter(({ folder, names }) => folder !== owner && names.has(file.name));
    return to.length > 0 ? [{ file, from: speaker, to: to.map(({ folder }) => folder) }] : [];
  });
}

interface Receiver {
  readonly folder: string;
  readonly isReceiver: boolean;
  readonly collective: Collective;
}

/**
 * Sends a file to all ranks, in messages. A rank that cannot write or read it goes on, because the
 * other ranks wait for it.
 *
 * @returns Its error.
 */
function send({ file, from }: Transfer, { folder, isReceiver, collective }: Receiver): unknown {
  const path = join(folder, file.name);
  const isSender = collective.rank === from;
  let problem: unknown;
  const attempt = <T>(work: () => T): T | undefined => {
    try {
      return problem === undefined ? work() : undefined;
    } catch (error) {
      problem = error;
      return undefined;
    }
  };
  const open = attempt(() => {
    if (isSender) return openSync(path, 'r');
    return isReceiver ? openSync(path + UNFINISHED, 'w', 0o600) : undefined;
  });
  for (let start = 0; start < file.bytes; start += MESSAGE_BYTES) {
    const length = Math.min(MESSAGE_BYTES, file.bytes - start);
    const local = isSender ? attempt(() => read(open!, start, length)) : undefined;
    const bytes = collective.broadcastObject(local ?? null, from);
    if (isReceiver) attempt(() => write(open!, bytes ?? fail(file.name)));
  }
  if (open !== undefined) closeSync(open);
  if (isReceiver) attempt(() => renameSync(path + UNFINISHED, path));
  if (isReceiver && problem !== undefined) rmSync(path + UNFINISHED, { force: true });
  return problem;
}

function read(file: number, start: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let done = 0; done < length;) {
    const count = readSync(file, bytes, done, length - done, start + done);
    if (count === 0) throw new Error(`the file ends at byte ${start + done}`);
    done += count;
  }
  return bytes;
}

function write(file: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length;) done += writeSync(file, bytes, done);
}

function failed(folder: string, cause: unknown): AccError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new AccError(
    'ACC_RESCUE_FAILED',
    `Files in ${folder} could not be moved between hosts: ${reason}.`,
    {
      help: 'Check the free memory of /dev/shm on each host. The newest checkpoint on the disk can be loaded.',
      cause,
    },
  );
}

function fail(name: string): never {
  throw new Error(`${name} could not be read on its host`);
}
