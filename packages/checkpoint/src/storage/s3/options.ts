import * as z from 'zod';
import { parseOptions } from '@acc/contract';
import { areCredentials, type S3Credentials } from '@acc/platform/s3';

export type { S3Credentials };

export interface S3StorageOptions {
  readonly bucket: string;
  /** The prefix of all keys, for example `runs/7`. Default: none. */
  readonly prefix?: string;
  /** Default `us-east-1`. */
  readonly region?: string;
  /**
   * The endpoint of a service other than Amazon's, for example `https://minio.example:9000`.
   * Default: Amazon's endpoint for the region.
   */
  readonly endpoint?: string;
  /** A function is called before each request. Use one for credentials that expire. */
  readonly credentials: S3Credentials | (() => S3Credentials | Promise<S3Credentials>);
  /**
   * The size of a request in bytes. Larger objects are sent in several parts. 5 MiB to 5 GiB,
   * default 16 MiB.
   */
  readonly partBytes?: number;
}

const MIB = 1024 * 1024;
/**
 * The limits of the service: the smallest size of a part that is not the last, and the largest
 * size.
 */
const PART_BYTES = { min: 5 * MIB, max: 5 * 1024 * MIB };

const schema = z.object({
  bucket: z.string().regex(/^[a-z0-9][a-z0-9.-]+$/, 'a name of lower-case letters, digits, dots and hyphens'),
  prefix: z.string().default(''),
  region: z.string().min(1).default('us-east-1'),
  endpoint: z
    .url({ protocol: /^https?$/, error: 'an address such as https://minio.example:9000' })
    .optional(),
  credentials: z.custom<S3StorageOptions['credentials']>(
    areCredentials,
    'accessKeyId and secretAccessKey, or a function that returns them',
  ),
  partBytes: z
    .number()
    .int()
    .min(PART_BYTES.min)
    .max(PART_BYTES.max)
    .default(16 * MIB),
});

export type ResolvedS3Options = Readonly<z.infer<typeof schema>>;

/** @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`. */
export function resolveS3Options(options: S3StorageOptions): ResolvedS3Options {
  // The endpoint is secret because an address may contain a password.
  return parseOptions('s3Storage', schema, options, { secret: ['credentials', 'endpoint'] });
}
