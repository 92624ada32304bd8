import { isAccError } from '@acc/contract';
import { environment } from '@acc/platform';
import { Bucket, type S3Credentials } from '@acc/platform/s3';
import { cannotRead, notFound } from '../errors.js';
import { rangedSource } from './ranged-source.js';
import type { S3SourceOptions } from './s3-options.js';
import type { HttpLimits, Source, SourceOptions, SourceState } from './source.js';

/** @throws AccError `ACC_DATA_NOT_FOUND`, `ACC_DATA_READ`, `ACC_S3_CLIENT_MISSING`. */
export async function lookAtObject(
  location: string,
  { s3 = {}, http }: SourceOptions = {},
): Promise<SourceState> {
  const { bucket, key } = partsOf(location);
  const { headers } = await asked(location, () => bucketOf(bucket, s3, http).request('HEAD', key));
  const bytes = Number(headers.get('content-length') ?? Number.NaN);
  if (!Number.isSafeInteger(bytes))
    throw cannotRead(location, 'the service does not tell the size of the object');
  return { location, bytes, tag: headers.get('etag') ?? '', s3, http };
}

/** An object in a bucket. */
export function s3Source(state: SourceState): Source {
  const { location, s3 = {}, http } = state;
  const { bucket, key } = partsOf(location);
  const client = bucketOf(bucket, s3, http);
  return rangedSource(location, state, async (range, maxBytes) => {
    const { status, bytes, headers } = await asked(location, () =>
      client.request('GET', key, { headers: { range }, maxBytes: Math.max(maxBytes, ERROR_BYTES) }, [416]),
    );
    return { status, bytes, tag: headers.get('etag') ?? '' };
  });
}

/** The keys of a bucket that match a pattern, sorted. `*` and `?` stand for anything but a slash. */
export async function matchingObjects(
  pattern: string,
  { s3 = {}, http }: SourceOptions = {},
): Promise<string[]> {
  const { bucket, key } = partsOf(pattern);
  const before = key.slice(0, key.search(/[*?]/));
  const listed = await asked(pattern, () => bucketOf(bucket, s3, http).list(before));
  const parts = key
    .split(/([*?])/)
    .map((part) => WILDCARDS[part] ?? part.replace(/[$()+.[\\\]^{|}]/g, '\\$&'));
  const matcher = new RegExp(`^${parts.join('')}$`);
  const keys = listed.map((object) => object.key).filter((found) => matcher.test(found));
  return keys.sort().map((found) => `s3://${bucket}/${found}`);
}

const WILDCARDS: Readonly<Record<string, string>> = { '*': '[^/]*', '?': '[^/]' };

function partsOf(location: string): { readonly bucket: string; readonly key: string } {
  const [, bucket, key] = /^s3:\/\/([^/]+)\/(.+)$/.exec(location) ?? [];
  if (bucket !== undefined && key !== undefined) return { bucket, key };
  throw notFound(`${location} does not name an object in a bucket`, 'Write s3://bucket/key.');
}

/** The longest answer that tells of an error. */
const ERROR_BYTES = 64 * 1024;

function bucketOf(bucket: string, s3: S3SourceOptions, http: HttpLimits | undefined): Bucket {
  const { region, endpoint, credentials } = s3;
  const env = environment();
  return new Bucket({
    bucket,
    prefix: '',
    region: region ?? (env['AWS_REGION'] || env['AWS_DEFAULT_REGION'] || 'us-east-1'),
    endpoint: endpoint ?? (env['AWS_ENDPOINT_URL_S3'] || env['AWS_ENDPOINT_URL'] || undefined),
    credentials: credentials ?? credentialsOfEnvironment,
    ...http,
  });
}

function credentialsOfEnvironment(): S3Credentials {
  const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret, AWS_SESSION_TOKEN: token } = environment();
  if (id && secret)
    return { accessKeyId: id, secretAccessKey: secret, ...(token && { sessionToken: token }) };
  throw cannotRead('The bucket', 'there are no credentials', {
    help: 'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the option s3.credentials. For public data, use https://.',
  });
}

/** Gives errors of the service the codes of data. */
async function asked<T>(location: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (isAccError(error, 'ACC_STORAGE_NOT_FOUND')) {
      throw notFound(
        `There is no object ${location}: ${error.message}`,
        'Check the bucket and the key.',
        error,
      );
    }
    if (isAccError(error) && error.code.startsWith('ACC_STORAGE_')) {
      throw cannotRead(location, error.message, { cause: error });
    }
    throw error;
  }
}
