import * as z from 'zod';
import { isPlainRecord, parseOptions } from '@acc/contract';
import type { BlockDataset } from '../blocks/block-dataset.js';
import { badColumn, badFormat, type SamplePlace } from '../errors.js';
import { parseJson } from '@acc/contract';
import { fileOptions, SECRET_OPTIONS, type FileDatasetOptions } from '../file-options.js';
import { openRecordFiles, recordDataset, recordsInWorker } from '../records/record-dataset.js';
import type { RecordFormat } from '../records/record-format.js';
import type { Locations } from '../sources/locations.js';
import { scanLines } from './line-framing.js';

export interface JsonlOptions<Sample = unknown, Mapped = unknown> extends FileDatasetOptions<Sample, Mapped> {
  /** The keys that samples have, all of which must be there. Default: the value of the line as it is. */
  readonly keys?: readonly string[];
}

const formatOptions = { keys: z.array(z.string()).min(1).readonly().optional() };
type FormatOptions = Readonly<z.infer<ReturnType<typeof z.object<typeof formatOptions>>>>;

const schema = z.object({ ...fileOptions, ...formatOptions });

/**
 * The lines of JSON Lines files, one value a line. Blank lines are skipped.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`, `ACC_DATA_NOT_FOUND`, `ACC_DATA_READ`,
 * `ACC_DATA_RANGES`. Samples: `ACC_DATA_FORMAT` (no JSON), `ACC_DATA_COLUMN` (a key is missing), `ACC_DATA_READ`,
 * `ACC_DATA_CHANGED`.
 */
export async function jsonlDataset<Sample = unknown, Mapped = Sample>(
  locations: Locations,
  options: JsonlOptions<Sample, Mapped> = {},
): Promise<BlockDataset<Mapped>> {
  const { keys, ...files } = parseOptions('jsonlDataset', schema, options, SECRET_OPTIONS);
  const format = jsonlFormat({ keys });
  return recordDataset(await openRecordFiles(locations, format, files), format, files, {
    name: 'jsonl',
    options: { keys },
  });
}

/** Opens the same dataset in a worker thread. */
export function jsonlInWorker(
  state: Parameters<typeof recordsInWorker>[0] & { readonly options: FormatOptions },
): Promise<BlockDataset<unknown>> {
  return recordsInWorker(state, jsonlFormat(state.options));
}

function jsonlFormat({ keys }: FormatOptions): RecordFormat<unknown> {
  return {
    framing: 'lines',
    unit: 'sample',
    scan: scanLines,
    decode(bytes, place) {
      const value = parseLine(bytes, place);
      return keys ? pick(value, keys, place) : value;
    },
  };
}

function parseLine(bytes: Uint8Array, place: SamplePlace): unknown {
  try {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
    return parseJson(text.startsWith('\ufeff') ? text.slice(1) : text);
  } catch (cause) {
    throw badFormat(place, `it cannot be read as JSON: ${(cause as Error).message}`, { cause });
  }
}

function pick(value: unknown, keys: readonly string[], place: SamplePlace): unknown {
  if (!isPlainRecord(value)) throw badColumn(place, 'it is no object, and keys were asked for');
  return Object.fromEntries(
    keys.map((key) => {
      if (!(key in value)) throw badColumn(place, `the key '${key}' is missing`);
      return [key, value[key]];
    }),
  );
}
