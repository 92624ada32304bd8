import * as z from 'zod';
import type { SourceOptions } from './sources/source.js';
import type { OnScan } from './sources/read-forward.js';
import type { MapSample } from './map-sample.js';

/** Options of all datasets of files. */
export interface FileDatasetOptions<Sample, Mapped = Sample> extends SourceOptions {
  /**
   * Changes each sample, for example decodes an image: a function, or the address of an ES module whose default export
   * is one (`new URL('./decode.js', import.meta.url)`). It may be async. Worker threads (`numWorkers`) need the module.
   */
  readonly map?: MapSample<Sample, Mapped> | URL | string;
  /**
   * The size in bytes of a block: of consecutive samples that are read at once. It takes part in the order of
   * `dataset.sampler(…)`. Default 4 MiB, and less if the dataset has fewer than 128 such blocks.
   */
  readonly blockBytes?: number;
  /**
   * The largest sample, in bytes: a line, a record, a row, or all files of a sample of a tar. A longer one is an error
   * when the file is opened. Default 256 MiB.
   */
  readonly maxSampleBytes?: number;
  /**
   * The folder of index files, which hold where the samples of each file start. Default: `data-index` in
   * `ACC_CACHE_DIR`, else in `~/.cache/acc`.
   */
  readonly indexFolder?: string;
  /**
   * Called while a file without an index is read from its start to its end. Default: a line every five seconds on the
   * standard error.
   */
  readonly onScan?: OnScan;
}

const isFunction = (value: unknown) => typeof value === 'function';
const isMap = (value: unknown) => isFunction(value) || typeof value === 'string' || value instanceof URL;

/** The schema of {@link FileDatasetOptions}, to be extended. */
export const fileOptions = {
  map: z
    .custom<MapSample<never, unknown> | URL | string>(isMap, 'a function or the address of a module')
    .optional(),
  blockBytes: z.int().positive().optional(),
  maxSampleBytes: z
    .int()
    .positive()
    .default(256 * 2 ** 20),
  indexFolder: z.string().min(1).optional(),
  s3: z
    .strictObject({
      region: z.string().min(1).optional(),
      endpoint: z
        .url({ protocol: /^https?$/, error: 'an address such as https://minio.example:9000' })
        .optional(),
      credentials: z
        .strictObject({
          accessKeyId: z.string().min(1),
          secretAccessKey: z.string().min(1),
          sessionToken: z.string().min(1).optional(),
        })
        .optional(),
    })
    .optional(),
  http: z
    .strictObject({
      timeoutMs: z.number().positive().optional(),
      minBytesPerSecond: z.number().nonnegative().optional(),
    })
    .optional(),
  onScan: z.custom<OnScan>(isFunction, 'a function').optional(),
};

export type ResolvedFileOptions = Readonly<z.infer<ReturnType<typeof z.object<typeof fileOptions>>>>;

/** Options whose values messages do not show. */
export const SECRET_OPTIONS = { secret: ['s3'] };
