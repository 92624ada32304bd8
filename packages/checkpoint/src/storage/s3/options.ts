import { z } from 'zod';
import { AccError, checkKeys } from '@acc/contract';

export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Of credentials that expire. */
  readonly sessionToken?: string;
}

export interface S3StorageOptions {
  readonly bucket: string;
  /** What all keys begin with: `runs/7`. Default none. */
  readonly prefix?: string;
  /** Default `us-east-1`. */
  readonly region?: string;
  /** Of a service other than Amazon's: `https://minio.example:9000`. Default: Amazon's of the region. */
  readonly endpoint?: string;
  /** A function is asked for each request: for credentials that expire. */
  readonly credentials: S3Credentials | (() => S3Credentials | Promise<S3Credentials>);
  /** Bytes that are sent at once; larger objects go in several parts. 5 MiB to 5 GiB, default 16 MiB. */
  readonly partBytes?: number;
}

const MIB = 1024 * 1024;
/** What the service takes for a part that is not the last, and at most. */
const PART_BYTES = { min: 5 * MIB, max: 5 * 1024 * MIB };
const isNamed = (value: unknown): boolean => typeof value === 'string' && value !== '';

const schema = z.object({
  bucket: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]+$/, 'no name of a bucket: small letters, digits, dots and dashes'),
  prefix: z.string().default(''),
  region: z.string().min(1).default('us-east-1'),
  endpoint: z
    .url({ protocol: /^https?$/, error: 'not an address such as https://minio.example:9000' })
    .optional(),
  credentials: z.custom<S3StorageOptions['credentials']>(
    areCredentials,
    'it needs accessKeyId and secretAccessKey, or is a function that gives them',
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
  checkKeys('s3Storage', options, Object.keys(schema.shape));
  const result = schema.safeParse(options);
  if (result.success) return result.data;
  // Not the error itself: it may quote credentials.
  const { path, message } = result.error.issues[0]!;
  throw new AccError('ACC_INVALID_OPTION', `s3Storage: '${path.join('.')}': ${message}.`, {
    details: { path },
  });
}

export function areCredentials(value: unknown): boolean {
  if (typeof value === 'function') return true;
  const { accessKeyId, secretAccessKey } = (value ?? {}) as Partial<S3Credentials>;
  return isNamed(accessKeyId) && isNamed(secretAccessKey);
}
