import type { Entry, Payload } from './entry.js';
import { Picture } from './payload/picture.js';

/** An entry as a line of JSON, in which NaN and infinities are `{"$number": "NaN"}`. */
export function encodeEntry(entry: Entry): string {
  if (entry.kind !== 'image') return JSON.stringify(entry, namedNumber);
  const { width, height, png } = entry.image.getNow();
  const image = { width, height, png: Buffer.from(png).toString('base64') };
  return JSON.stringify({ ...entry, image });
}

function namedNumber(_key: string, value: unknown): unknown {
  return typeof value === 'number' && !Number.isFinite(value) ? { $number: String(value) } : value;
}

/** What {@link encodeEntry} wrote; undefined for a line that was cut off. */
export function decodeEntry(line: string): Entry | undefined {
  let parsed: Entry;
  try {
    parsed = JSON.parse(line, (_key, value: unknown) =>
      typeof value === 'object' && value !== null && '$number' in value ? Number(value.$number) : value,
    ) as Entry;
  } catch {
    return undefined;
  }
  if (parsed.kind !== 'image') return parsed;
  const { width, height, png } = parsed.image as unknown as { width: number; height: number; png: string };
  const image = new Picture({ width, height, png: Buffer.from(png, 'base64') });
  return { ...parsed, image } as Entry & (Payload & { kind: 'image' });
}
