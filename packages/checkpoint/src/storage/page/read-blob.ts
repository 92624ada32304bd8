import type { GetOptions } from '@acc/contract';
import { endsEarly } from './errors.js';

/** Reads a range of a blob. Only that range gets into memory. */
export async function readBlob(
  blob: Blob,
  { start = 0, into }: GetOptions,
  doing: string,
): Promise<Uint8Array> {
  const end = into ? start + into.length : blob.size;
  if (into && end > blob.size) throw endsEarly(doing, blob.size);
  const bytes = new Uint8Array(await blob.slice(start, Math.max(start, end)).arrayBuffer());
  if (!into) return bytes;
  into.set(bytes);
  return into;
}
