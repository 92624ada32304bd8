import * as z from 'zod';
import { parseOptions } from '@acc/contract';
import type { BlockDataset } from '../blocks/block-dataset.js';
import { badFormat, type SamplePlace } from '../errors.js';
import { fileOptions, SECRET_OPTIONS, type FileDatasetOptions } from '../file-options.js';
import { openRecordFiles, recordDataset, recordsInWorker } from '../records/record-dataset.js';
import type { RecordFormat } from '../records/record-format.js';
import type { Locations } from '../sources/locations.js';
import { parseExample, type FeatureList } from './example.js';
import { featuresSchema, featureValue, toInt32, type FeatureSpecs, type FeatureValues } from './features.js';
import { recordData, scanRecords } from './record-framing.js';

/** A sample without `features`: each feature as the list that it is. */
export type FeatureLists = Record<string, Float32Array | Int32Array | Uint8Array[]>;

export interface TfrecordOptions<
  Specs extends FeatureSpecs = FeatureSpecs,
  Mapped = unknown,
  Sample = FeatureValues<Specs>,
> extends FileDatasetOptions<Sample, Mapped> {
  /**
   * The features that are read, by name. Default: all of them, as lists: `Float32Array`, `Int32Array`, or arrays of
   * `Uint8Array`.
   */
  readonly features?: Specs;
  /** Whether the checksum of each record's data is verified. Default true. The lengths always are. */
  readonly checksums?: boolean;
}

const formatOptions = { features: featuresSchema.optional(), checksums: z.boolean().default(true) };
type FormatOptions = Readonly<z.infer<ReturnType<typeof z.object<typeof formatOptions>>>>;

const schema = z.object({ ...fileOptions, ...formatOptions });

/**
 * The records of TFRecord files, each a serialized `tf.train.Example`.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`, `ACC_DATA_NOT_FOUND`, `ACC_DATA_READ`,
 * `ACC_DATA_RANGES`, `ACC_DATA_FORMAT`. Samples: `ACC_DATA_FORMAT` (checksum, no Example), `ACC_DATA_COLUMN`,
 * `ACC_DATA_READ`, `ACC_DATA_CHANGED`.
 */
export async function tfrecordDataset<
  const Specs extends FeatureSpecs = Record<never, never>,
  Sample = Record<never, never> extends Specs ? FeatureLists : FeatureValues<Specs>,
  Mapped = Sample,
>(locations: Locations, options: TfrecordOptions<Specs, Mapped, Sample> = {}): Promise<BlockDataset<Mapped>> {
  const { features, checksums, ...files } = parseOptions('tfrecordDataset', schema, options, SECRET_OPTIONS);
  const own = { features, checksums };
  const format = tfrecordFormat(own);
  return recordDataset(await openRecordFiles(locations, format, files), format, files, {
    name: 'tfrecord',
    options: own,
  });
}

/** Opens the same dataset in a worker thread. */
export function tfrecordInWorker(
  state: Parameters<typeof recordsInWorker>[0] & { readonly options: FormatOptions },
): Promise<BlockDataset<unknown>> {
  return recordsInWorker(state, tfrecordFormat(state.options));
}

function tfrecordFormat({ features, checksums }: FormatOptions): RecordFormat<unknown> {
  const specs = features && Object.entries(features);
  const names = specs && new Set(specs.map(([name]) => name));
  const isWanted = (name: string) => names === undefined || names.has(name);
  return {
    framing: 'tfrecord',
    unit: 'record',
    scan: scanRecords,
    decode(record, place) {
      const lists = listsOf(recordData(record, place, checksums), isWanted, place);
      if (!specs) return allLists(lists, place);
      return Object.fromEntries(
        specs.map(([name, spec]) => [name, featureValue(name, lists.get(name), spec, place)]),
      );
    },
  };
}

function listsOf(data: Uint8Array, isWanted: (name: string) => boolean, place: SamplePlace) {
  try {
    return parseExample(data, isWanted);
  } catch (cause) {
    throw badFormat(place, `its data is no tf.train.Example: ${(cause as Error).message}`, { cause });
  }
}

function allLists(lists: ReadonlyMap<string, FeatureList>, place: SamplePlace): FeatureLists {
  const entries = [...lists].map(([name, { kind, values }]) => {
    return [name, kind === 'int64' ? toInt32(name, values, place) : values];
  });
  return Object.fromEntries(entries) as FeatureLists;
}
