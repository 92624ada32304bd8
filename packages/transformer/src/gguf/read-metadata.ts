import type { ByteCursor } from './byte-cursor.js';
import { invalidGguf } from './errors.js';

/** A value of the metadata. Items of lists are not kept. Of long texts the beginning is. */
export type MetadataValue = number | boolean | string | typeof LIST;

/** Stands for each list. */
const LIST: readonly never[] = [];

const STRING = 8;
const ARRAY = 9;

interface NumberType {
  readonly bytes: number;
  readonly read: (view: DataView) => number | boolean;
}

/** By their numbers in files. */
const NUMBERS: ReadonlyMap<number, NumberType> = new Map<number, NumberType>([
  [0, { bytes: 1, read: (view) => view.getUint8(0) }],
  [1, { bytes: 1, read: (view) => view.getInt8(0) }],
  [2, { bytes: 2, read: (view) => view.getUint16(0, true) }],
  [3, { bytes: 2, read: (view) => view.getInt16(0, true) }],
  [4, { bytes: 4, read: (view) => view.getUint32(0, true) }],
  [5, { bytes: 4, read: (view) => view.getInt32(0, true) }],
  [6, { bytes: 4, read: (view) => view.getFloat32(0, true) }],
  [7, { bytes: 1, read: (view) => view.getUint8(0) !== 0 }],
  [10, { bytes: 8, read: (view) => Number(view.getBigUint64(0, true)) }],
  [11, { bytes: 8, read: (view) => Number(view.getBigInt64(0, true)) }],
  [12, { bytes: 8, read: (view) => view.getFloat64(0, true) }],
]);

const MAX_KEY = 65_535;
/** The bytes of a text that are kept. No word that is looked for is as long. */
const KEPT_BYTES = 256;

/** Reads `count` keys and values. @throws AccError `ACC_GGUF_INVALID`. */
export async function readMetadata(
  cursor: ByteCursor,
  count: number,
  where: string,
): Promise<ReadonlyMap<string, MetadataValue>> {
  const metadata = new Map<string, MetadataValue>();
  for (let i = 0; i < count; i++) {
    await cursor.load(8);
    const length = cursor.count(`the length of key ${i} of its metadata`);
    if (length === 0 || length > MAX_KEY)
      throw invalidGguf(where, `key ${i} of its metadata has ${length} bytes`);
    const key = await cursor.text(length);
    if (metadata.has(key)) throw invalidGguf(where, `its metadata has '${key}' twice`);
    await cursor.load(4);
    metadata.set(key, await readValue(cursor, key, where));
  }
  return metadata;
}

async function readValue(cursor: ByteCursor, key: string, where: string): Promise<MetadataValue> {
  const type = cursor.u32();
  if (type === ARRAY) return await readArray(cursor, key, where);
  if (type === STRING) {
    await cursor.load(8);
    const length = cursor.count(`the length of '${key}'`);
    const kept = await cursor.text(Math.min(length, KEPT_BYTES));
    cursor.skip(length - Math.min(length, KEPT_BYTES));
    return kept;
  }
  const number = NUMBERS.get(type);
  if (!number) throw invalidGguf(where, `'${key}' has the unknown type ${type}`);
  return await cursor.value(number.bytes, number.read);
}

async function readArray(cursor: ByteCursor, key: string, where: string): Promise<MetadataValue> {
  await cursor.load(12);
  const type = cursor.u32();
  const count = cursor.count(`the number of items of '${key}'`);
  if (type === STRING) return await skipTexts(cursor, key, count);
  const number = NUMBERS.get(type);
  if (!number) throw invalidGguf(where, `'${key}' has items of the unknown type ${type}`);
  cursor.skip(count * number.bytes);
  return LIST;
}

async function skipTexts(cursor: ByteCursor, key: string, count: number): Promise<typeof LIST> {
  for (let i = 0; i < count; i++) {
    if (!cursor.has(8)) await cursor.load(8);
    cursor.skip(cursor.count(`the length of an item of '${key}'`));
  }
  return LIST;
}
