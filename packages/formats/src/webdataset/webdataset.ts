import * as z from 'zod';
import { parseOptions } from '@acc/contract';
import type { BlockDataset } from '../blocks/block-dataset.js';
import { badColumn, type SamplePlace } from '../errors.js';
import { fileOptions, SECRET_OPTIONS, type FileDatasetOptions } from '../file-options.js';
import { openRecordFiles, recordDataset, recordsInWorker } from '../records/record-dataset.js';
import type { RecordFormat } from '../records/record-format.js';
import type { Locations } from '../sources/locations.js';
import { jpegDecoder, maxPixels } from '../images/decode-pixels.js';
import { decodeField } from './decode-field.js';
import { imageDecoder, type ImageOptions } from './decode-image.js';
import { sampleFields, scanSamples, type RawSample } from './sample-framing.js';

/** A sample: its fields by their endings, and without `fields` its key as `__key__`. */
export type WebSample = Record<string, unknown>;

export interface WebdatasetOptions<Sample = WebSample, Mapped = unknown> extends FileDatasetOptions<
  Sample,
  Mapped
> {
  /**
   * The fields of a sample, by their endings: `['jpg;png', 'cls']`. Of alternatives the first that is there is taken,
   * under the name of the first alternative. `__key__` is the name of the sample. Default: all that there are.
   */
  readonly fields?: readonly string[];
  /**
   * Whether fields are decoded by their endings: text, `cls` (int32), `json`, `npy`, and images with the package
   * `sharp`. Default true. False: all fields are bytes.
   */
  readonly decode?: boolean;
  /** The size and channels of images, and how large they may be. */
  readonly image?: ImageOptions;
}

const formatOptions = {
  fields: z.array(z.string().min(1)).min(1).readonly().optional(),
  decode: z.boolean().default(true),
  image: z
    .strictObject({
      resize: z.tuple([z.int().positive(), z.int().positive()]).readonly().optional(),
      channels: z.union([z.literal(1), z.literal(3), z.literal(4)]).optional(),
      jpegDecoder,
      maxPixels,
    })
    .prefault({}),
};
type FormatOptions = Readonly<z.infer<ReturnType<typeof z.object<typeof formatOptions>>>>;

const schema = z.object({ ...fileOptions, ...formatOptions });

/**
 * The samples of tar files as WebDataset writes them: consecutive members whose paths are equal up to the first dot of
 * the file name are one sample.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`, `ACC_DATA_NOT_FOUND`, `ACC_DATA_READ`,
 * `ACC_DATA_RANGES`, `ACC_DATA_FORMAT`. Samples: `ACC_DATA_FORMAT`, `ACC_DATA_COLUMN` (a field is missing, or only
 * Python can read it), `ACC_DATA_PACKAGE` (no sharp), `ACC_DATA_READ`, `ACC_DATA_CHANGED`.
 */
export async function webdataset<Sample = WebSample, Mapped = Sample>(
  locations: Locations,
  options: WebdatasetOptions<Sample, Mapped> = {},
): Promise<BlockDataset<Mapped>> {
  const { fields, decode, image, ...files } = parseOptions('webdataset', schema, options, SECRET_OPTIONS);
  const own = { fields, decode, image };
  const format = webdatasetFormat(own);
  return recordDataset(await openRecordFiles(locations, format, files), format, files, {
    name: 'webdataset',
    options: own,
  });
}

/** Opens the same dataset in a worker thread. */
export function webdatasetInWorker(
  state: Parameters<typeof recordsInWorker>[0] & { readonly options: FormatOptions },
): Promise<BlockDataset<unknown>> {
  return recordsInWorker(state, webdatasetFormat(state.options));
}

function webdatasetFormat({ fields, decode, image }: FormatOptions): RecordFormat<WebSample> {
  const decodeImage = imageDecoder(image);
  const wanted = fields?.map((alternatives) => alternatives.toLowerCase().split(';'));
  return {
    framing: 'webdataset',
    unit: 'sample',
    scan: scanSamples,
    async decode(bytes, place) {
      const raw = sampleFields(bytes, place);
      const chosen = wanted ? wanted.map((names) => choose(raw, names, place)) : allOf(raw);
      const values = chosen.map(async ({ name, field, content }) => [
        name,
        content === undefined
          ? raw.key
          : decode
            ? await decodeField(field, content, decodeImage, place)
            : content,
      ]);
      return Object.fromEntries((await Promise.all(values)) as [string, unknown][]);
    },
  };
}

interface Chosen {
  /** The name in the sample. */
  readonly name: string;
  readonly field: string;
  /** Undefined: the key of the sample. */
  readonly content: Uint8Array | undefined;
}

const KEY = '__key__';

function allOf({ fields }: RawSample): Chosen[] {
  const all = [...fields].map(([field, content]) => ({ name: field, field, content }));
  return [{ name: KEY, field: KEY, content: undefined }, ...all];
}

function choose({ key, fields }: RawSample, names: readonly string[], place: SamplePlace): Chosen {
  const name = names[0]!;
  const field = names.find((candidate) => candidate === KEY || fields.has(candidate));
  if (field !== undefined) return { name, field, content: fields.get(field) };
  const list = [...fields.keys()].join(', ') || 'none';
  throw badColumn(place, `the sample '${key}' has no field '${names.join(';')}'; its fields are ${list}`);
}
