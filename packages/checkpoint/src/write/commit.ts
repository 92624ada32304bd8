import { requireWritten } from '#platform/unasked';
import { AccError, isAccError, poll } from '@acc/contract';
import { checksumOf } from '../checksum.js';
import {
  hexOf,
  indexOf,
  MARKER,
  markerOf,
  type Marker,
  type RankRecord,
  type RunInfo,
} from '../format/manifest.js';
import { describeLocation, type Location } from '../location.js';
import { fileNames, isOurs } from '../names.js';
import { CHUNK_BYTES } from './write-rank.js';

export interface CommitJob {
  readonly location: Location;
  readonly info: RunInfo;
  readonly id: string;
  /** The number of ranks that write. */
  readonly size: number;
}

/**
 * The longest pause between two listings of the storage. A listing may be a request to a service.
 */
const LONGEST_PAUSE_MS = 500;

/**
 * Completes a checkpoint as soon as the files of all ranks are there: writes the index, then the
 * marker, which is replaced atomically. Then deletes the files of an earlier save in the same
 * place.
 *
 * @param abandoned Aborted if a rank has failed, or some time after all ranks have reported that
 * they are done.
 * @throws AccError `ACC_CHECKPOINT_IN_DOUBT` if the marker may be there. The caller must not delete
 * any files then.
 */
export async function commit(job: CommitJob, local: RankRecord, abandoned: AbortSignal): Promise<void> {
  const { storage, prefix } = job.location;
  const records = [local, ...(await othersRecords(job, abandoned))];
  const index = indexOf(records, job.info, CHUNK_BYTES);
  await requireFiles(job, records);
  const bytes = encode(index);
  const name = fileNames.index(job.id);
  await storage.put(prefix + name, bytes);
  const crc32 = hexOf(await checksumOf(bytes));
  await putMarker(job.location, markerOf(job.info, { name, bytes: bytes.length, crc32 }));
  await deleteLeftovers(job.location, new Set([MARKER, name, ...index.files.map((file) => file.name)]));
}

/** The records of all ranks except rank 0. Waits until they have appeared. */
async function othersRecords(
  { location, id, size }: CommitJob,
  abandoned: AbortSignal,
): Promise<RankRecord[]> {
  const { storage, prefix } = location;
  const keys = Array.from({ length: size - 1 }, (_, i) => prefix + fileNames.record(i + 1, size, id));
  let missing = keys;
  const look = async (): Promise<true | undefined> => {
    const present = new Set((await storage.list(prefix)).map(({ key }) => key));
    missing = keys.filter((key) => !present.has(key));
    return missing.length === 0 || undefined;
  };
  const areThere = size === 1 || (await poll(look, { signal: abandoned, longestPauseMs: LONGEST_PAUSE_MS }));
  if (!areThere) throw notShared(location, missing);
  const texts = await Promise.all(keys.map((key) => storage.get(key)));
  requireWritten(texts);
  return texts.map((bytes) => JSON.parse(new TextDecoder().decode(bytes)) as RankRecord);
}

/** Checks that every file is there with the size that was written. */
async function requireFiles({ location }: CommitJob, records: readonly RankRecord[]): Promise<void> {
  const { storage, prefix } = location;
  const sizes = new Map((await storage.list(prefix)).map(({ key, bytes }) => [key, bytes]));
  const missing = records.flatMap(({ file }) =>
    file && sizes.get(prefix + file.name) !== file.bytes ? [file.name] : [],
  );
  if (missing.length > 0) throw notShared(location, missing);
}

function notShared(location: Location, missing: readonly string[]): AccError {
  return new AccError(
    'ACC_STORAGE_NOT_SHARED',
    `Rank 0 cannot find files that other ranks wrote to ${describeLocation(location)}: ${missing.join(', ')}.`,
    {
      help: 'All ranks must save to the same place: a file system that all hosts share, or a bucket.',
      details: { missing },
    },
  );
}

/**
 * Puts the marker, and repeats a put that failed but may have replaced the old marker. That happens
 * if syncing the folder fails or if the answer of a service is lost.
 */
async function putMarker(location: Location, marker: Marker): Promise<void> {
  const { storage, prefix } = location;
  const bytes = encode(marker);
  const put = () => storage.put(prefix + MARKER, bytes);
  try {
    await put();
  } catch (error) {
    if (await isAbsent(location, bytes)) throw error;
    await put().catch((cause: unknown) => {
      throw inDoubt(location, cause);
    });
  }
}

/** Whether it is certain that `marker` is not stored: another marker is there, or none. */
async function isAbsent({ storage, prefix }: Location, marker: Uint8Array): Promise<boolean> {
  try {
    const stored = await storage.get(prefix + MARKER);
    return stored.length !== marker.length || stored.some((byte, i) => byte !== marker[i]);
  } catch (error) {
    return isAccError(error, 'ACC_STORAGE_NOT_FOUND');
  }
}

function inDoubt(location: Location, cause: unknown): AccError {
  const message = `The marker in ${describeLocation(location)} may have been replaced: ${(cause as Error).message}`;
  return new AccError('ACC_CHECKPOINT_IN_DOUBT', message, {
    help: 'Check the connection to the storage, and save again. Both checkpoints remain until then.',
    cause,
  });
}

/**
 * Deletes the files of earlier saves. A failure only causes a warning, because the checkpoint is
 * already complete.
 */
async function deleteLeftovers(location: Location, kept: ReadonlySet<string>): Promise<void> {
  const { storage, prefix } = location;
  try {
    const names = (await storage.list(prefix)).map(({ key }) => key.slice(prefix.length));
    const leftovers = names.filter((name) => isOurs(name) && !kept.has(name));
    if (leftovers.length > 0) await storage.delete(leftovers.map((name) => prefix + name));
  } catch (error) {
    const where = describeLocation(location);
    console.warn(`acc: files of earlier saves in ${where} could not be deleted. ${(error as Error).message}`);
  }
}

const encode = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));
