import type { GetOptions, Storage } from '@acc/contract';
import { storageErrorOf } from '@acc/platform';
import { Bucket } from '@acc/platform/s3';
import { itemsOf } from '../content.js';
import { resolveS3Options, type S3StorageOptions } from './options.js';
import { Part, Upload } from './upload.js';

/**
 * Stores objects in a bucket of Amazon S3 or of a compatible service. An object is stored
 * completely or not at all. The packages `aws4fetch` and `fast-xml-parser` must be installed beside
 * this one. Failed requests are retried.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`; on use also `ACC_S3_CLIENT_MISSING`.
 */
export function s3Storage(options: S3StorageOptions): Storage {
  const { partBytes, ...access } = resolveS3Options(options);
  const bucket = new Bucket(access);
  return {
    location: bucket.location,
    put: (key, content) => put(bucket, partBytes, key, content),
    get: (key, range) => get(bucket, key, range),
    list: (prefix) => bucket.list(prefix),
    async delete(keys) {
      // Deletes objects one by one: a request for many objects needs a checksum that not all
      // services know.
      for (const key of keys) await bucket.request('DELETE', key, {}, [404]);
    },
  };
}

async function put(
  bucket: Bucket,
  partBytes: number,
  key: string,
  content: Uint8Array | AsyncIterable<Uint8Array>,
): Promise<void> {
  let upload: Upload | undefined;
  try {
    let part = new Part(partBytes);
    for await (const item of itemsOf(content)) {
      for (let rest = item; rest.length > 0;) {
        rest = part.take(rest);
        if (!part.isFull) continue;
        upload ??= await Upload.begin(bucket, key);
        await upload.send(part.bytes);
        part = new Part(partBytes);
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
