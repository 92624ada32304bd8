import { WIRE, WireReader } from './wire.js';

/** The values of a feature, as they are stored. A feature without a list has no values. */
export type FeatureList =
  | { readonly kind: 'bytes'; readonly values: readonly Uint8Array[] }
  | { readonly kind: 'float'; readonly values: Float32Array }
  | { readonly kind: 'int64'; readonly values: Float64Array };

/** The fields of the messages Example, Features and of the entries of their map. */
const FEATURES = 1;
const FEATURE = 1;
const KEY = 1;
const VALUE = 2;
/** The fields of the message Feature: one of them is set. */
const KINDS = { 1: 'bytes', 2: 'float', 3: 'int64' } as const;

/**
 * The features of a serialized `tf.train.Example`. A feature that occurs twice has its last value, as protocol buffers
 * say.
 *
 * @param wanted Whether a feature is needed. Others are skipped.
 * @throws RangeError if the bytes are no Example.
 */
export function parseExample(data: Uint8Array, wanted: (name: string) => boolean): Map<string, FeatureList> {
  const features = new Map<string, FeatureList>();
  for (const all of messagesIn(new WireReader(data), FEATURES)) {
    for (const entry of messagesIn(all, FEATURE)) readEntry(entry, wanted, features);
  }
  return features;
}

function readEntry(
  entry: WireReader,
  wanted: (name: string) => boolean,
  features: Map<string, FeatureList>,
): void {
  let name = '';
  let value: WireReader | undefined;
  while (!entry.isAtEnd) {
    const key = entry.varint();
    if (key === KEY * 8 + WIRE.bytes) name = textOf(entry.field());
    else if (key === VALUE * 8 + WIRE.bytes) value = entry.inner();
    else entry.skip(key & 7);
  }
  if (!value || !wanted(name)) return;
  const list = readFeature(value);
  if (list) features.set(name, list);
}

function readFeature(feature: WireReader): FeatureList | undefined {
  let found: FeatureList | undefined;
  while (!feature.isAtEnd) {
    const key = feature.varint();
    const kind = (key & 7) === WIRE.bytes ? KINDS[(key >>> 3) as keyof typeof KINDS] : undefined;
    if (kind === undefined) feature.skip(key & 7);
    else if (kind === 'bytes') found = { kind, values: [...fieldsIn(feature.inner())] };
    else if (kind === 'float') found = { kind, values: readFloats(feature.inner()) };
    else found = { kind, values: readIntegers(feature.inner()) };
  }
  return found;
}

/** Lists of numbers are packed: one field has all of them. Older writers write a field for each number. */
function readFloats(list: WireReader): Float32Array {
  const values: Float32Array[] = [];
  const single: number[] = [];
  while (!list.isAtEnd) {
    const key = list.varint();
    if (key === 8 + WIRE.bytes) values.push(unpackFloats(list.field()));
    else if (key === 8 + WIRE.fixed32) single.push(list.float32());
    else list.skip(key & 7);
  }
  if (values.length === 1 && single.length === 0) return values[0]!;
  return Float32Array.from([...values.flatMap((part) => [...part]), ...single]);
}

function unpackFloats(bytes: Uint8Array): Float32Array {
  if (bytes.length % 4 !== 0) throw new RangeError('a list of floats is cut off');
  return new Float32Array(bytes.slice().buffer);
}

function readIntegers(list: WireReader): Float64Array {
  const values: number[] = [];
  while (!list.isAtEnd) {
    const key = list.varint();
    if (key === 8 + WIRE.bytes) {
      const packed = list.inner();
      while (!packed.isAtEnd) values.push(packed.int64());
    } else if (key === 8 + WIRE.varint) values.push(list.int64());
    else list.skip(key & 7);
  }
  return Float64Array.from(values);
}

function* messagesIn(message: WireReader, field: number): Generator<WireReader> {
  while (!message.isAtEnd) {
    const key = message.varint();
    if (key === field * 8 + WIRE.bytes) yield message.inner();
    else message.skip(key & 7);
  }
}

function* fieldsIn(message: WireReader): Generator<Uint8Array> {
  while (!message.isAtEnd) {
    const key = message.varint();
    if (key === 8 + WIRE.bytes) yield message.field();
    else message.skip(key & 7);
  }
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
}
