import { newestIn } from '#platform/newest-in';
import { AccError, isAccError } from '@acc/contract';
import { checksumOf } from '../checksum.js';
import {
  hexOf,
  invalid,
  MARKER,
  parseIndex,
  parseMarker,
  type Index,
  type Marker,
} from '../format/manifest.js';
import { describeLocation, type Location } from '../location.js';
import { checkIndex } from './check-index.js';

/** A complete checkpoint. Only its index has been read. */
export interface Checkpoint {
  readonly location: Location;
  readonly index: Index;
}

/**
 * Opens a complete checkpoint.
 *
 * @throws AccError `ACC_CHECKPOINT_NOT_FOUND` if there is none or if it was never completed;
 * `ACC_CHECKPOINT_CORRUPT` for files that are missing or changed; `ACC_CHECKPOINT_INVALID`,
 * `ACC_CHECKPOINT_VERSION`.
 */
export async function openCheckpoint(location: Location): Promise<Checkpoint> {
  const marker = await readMarker(location);
  const { storage, prefix } = location;
  const key = prefix + marker.index.name;
  const bytes = await present(location, () => storage.get(key), marker.index.name);
  if (bytes.length !== marker.index.bytes || hexOf(await checksumOf(bytes)) !== marker.index.crc32) {
    throw corrupt(location, marker.index.name, 'its size or checksum does not match');
  }
  const where = `${storage.location}/${key}`;
  const index = parseIndex(bytes, where);
  try {
    checkIndex(index);
  } catch (cause) {
    throw invalid(where, cause);
  }
  const sizes = new Map((await storage.list(prefix)).map((each) => [each.key, each.bytes]));
  for (const file of index.files) {
    const size = sizes.get(prefix + file.name);
    if (size === undefined) throw corrupt(location, file.name, 'it is missing');
    if (size !== file.bytes) throw corrupt(location, file.name, `it has ${size} of ${file.bytes} bytes`);
  }
  return { location, index };
}

async function readMarker(location: Location): Promise<Marker> {
  const { storage, prefix } = location;
  const key = prefix + MARKER;
  try {
    return parseMarker(await storage.get(key), `${storage.location}/${key}`);
  } catch (error) {
    if (!isAccError(error, 'ACC_STORAGE_NOT_FOUND')) throw error;
    throw new AccError(
      'ACC_CHECKPOINT_NOT_FOUND',
      `There is no complete checkpoint in ${describeLocation(location)}.`,
      {
        help: await adviceFor(location),
        cause: error,
      },
    );
  }
}

/** The newest checkpoint one level below, or what a complete one has. */
async function adviceFor(location: Location): Promise<string> {
  const { storage, prefix } = location;
  const newest = await newestIn(location);
  return newest === undefined
    ? `Check the path. A complete checkpoint contains a file ${MARKER}.`
    : `It is a folder of checkpoints. Did you mean ${describeLocation({ storage, prefix: `${prefix}${newest}/` })}?`;
}

async function present<T>(location: Location, read: () => Promise<T>, file: string): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!isAccError(error, 'ACC_STORAGE_NOT_FOUND')) throw error;
    throw corrupt(location, file, 'it is missing');
  }
}

export function corrupt(location: Location, file: string, problem: string): AccError {
  return new AccError(
    'ACC_CHECKPOINT_CORRUPT',
    `The checkpoint in ${describeLocation(location)} was damaged after it was written: ${file}: ${problem}.`,
    { help: 'Load an earlier checkpoint, and check the disk.', details: { file } },
  );
}
