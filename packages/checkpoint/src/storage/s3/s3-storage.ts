import type { GetOptions, Storage, StoredObject } from '@acc/contract';
import { piecesOf } from '../content.js';
import { storageErrorOf } from '../errors.js';
import { Bucket, notUnderstood } from './bucket.js';
import { resolveS3Options, type S3StorageOptions } from './options.js';
import { Part, Upload } from './upload.js';
import { elementIn, parseXml, textIn, type XmlElement } from './xml.js';

/**
 * Stores objects in a bucket of Amazon S3 or of a compatible service. An object is stored
 * completely or not at all. The packages `aws4fetch` and `fast-xml-parser` must be installed beside
 * this one. Failed requests are retried.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`; on use also `ACC_S3_CLIENT_MISSING`.
 */
export function s3Storage(options: S3StorageOptions): Storage {
  const bucket = new Bucket(resolveS3Options(options));
  return {
    location: bucket.location,
    put: (key, content) => put(bucket, key, content),
    get: (key, range) => get(bucket, key, range),
    list: (prefix) => list(bucket, prefix),
    async delete(keys) {
      // Deletes objects one by one: a request for many objects needs a checksum that not all
      // services know.
      for (const key of keys) await bucket.request('DELETE', key, {}, [404]);
    },
  };
}

async function put(
  bucket: Bucket,
  key: string,
  content: Uint8Array | AsyncIterable<Uint8Array>,
): Promise<void> {
  let upload: Upload | undefined;
  try {
    let part = new Part(bucket.partBytes);
    for await (const piece of piecesOf(content)) {
      for (let rest = piece; rest.length > 0;) {
        rest = part.take(rest);
        if (!part.isFull) continue;
        upload ??= await Upload.begin(bucket, key);
        await upload.send(part.bytes);
        part = new Part(bucket.partBytes);
      }
    }
    if (!upload) await bucket.request('PUT', key, { body: part.bytes });
    else {
      if (part.bytes.length > 0) await upload.send(part.bytes);
      await upload.complete();
    }
  } catch (error) {
    await upload?.abort();
    throw error;
  }
}

async function get(bucket: Bucket, key: string, { start = 0, into }: GetOptions = {}): Promise<Uint8Array> {
  if (into?.length === 0) return into;
  const end = into ? start + into.length - 1 : '';
  const isPart = start > 0 || into !== undefined;
  const range = isPart ? { headers: { range: `bytes=${start}-${end}` } } : {};
  const { bytes } = await bucket.request('GET', key, range);
  if (!into) return bytes;
  if (bytes.length !== into.length) {
    const reason = `it has only ${bytes.length} of the ${into.length} requested bytes from byte ${start}`;
    throw storageErrorOf('ACC_STORAGE_NOT_FOUND', `GET ${bucket.location}/${key}`, reason, undefined);
  }
  into.set(bytes);
  return into;
}

async function list(bucket: Bucket, prefix: string): Promise<StoredObject[]> {
  const found: StoredObject[] = [];
  let token: string | undefined;
  do {
    const query = {
      'list-type': '2',
      prefix: bucket.keyOf(prefix),
      ...(token !== undefined && { 'continuation-token': token }),
    };
    const { text } = await bucket.request('GET', undefined, { query });
    const answer = await parseXml(text);
    if (!('ListBucketResult' in answer)) throw notUnderstood(`Listing ${bucket.location}/${prefix}`);
    const page = elementIn(answer, 'ListBucketResult');
    for (const object of (page['Contents'] ?? []) as XmlElement[]) {
      found.push({ key: bucket.nameOf(textIn(object, 'Key')!), bytes: Number(textIn(object, 'Size')) });
    }
    token = textIn(page, 'IsTruncated') === 'true' ? textIn(page, 'NextContinuationToken') : undefined;
  } while (token !== undefined);
  return found;
}
