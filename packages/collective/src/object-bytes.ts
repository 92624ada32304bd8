import { AccError } from '@acc/contract';

const ARRAY_TYPES = {
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
} as const;

type ArrayName = keyof typeof ARRAY_TYPES;

/** Marks what JSON has no form for. */
const TAG = '@acc';
type Tagged =
  | { [TAG]: 'array'; type: ArrayName; base64: string }
  | { [TAG]: 'number'; text: string }
  | { [TAG]: 'bigint'; text: string }
  | { [TAG]: 'undefined' }
  | { [TAG]: 'object'; entries: [string, unknown][] };

/**
 * An object as bytes: JSON, extended by typed arrays, NaN, infinities, -0, bigint and undefined. No code ever runs when it
 * is read.
 *
 * @throws AccError `ACC_OBJECT_NOT_SERIALIZABLE` for functions, symbols, class instances and cycles.
 */
export function objectToBytes(value: unknown): Uint8Array {
  const path = new Set<object>();
  return new TextEncoder().encode(JSON.stringify(encode(value, '', path)));
}

/** The object that {@link objectToBytes} wrote. */
export function objectFromBytes(bytes: Uint8Array): unknown {
  return decode(JSON.parse(new TextDecoder().decode(bytes)));
}

function encode(value: unknown, where: string, path: Set<object>): unknown {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0)
        ? value
        : ({ [TAG]: 'number', text: Object.is(value, -0) ? '-0' : String(value) } satisfies Tagged);
    case 'bigint':
      return { [TAG]: 'bigint', text: String(value) } satisfies Tagged;
    case 'undefined':
      return { [TAG]: 'undefined' } satisfies Tagged;
    case 'object':
      return value === null ? null : encodeObject(value, where, path);
    default:
      throw notSerializable(where, `a ${typeof value}`);
  }
}

function encodeObject(value: object, where: string, path: Set<object>): unknown {
  if (path.has(value)) throw notSerializable(where, 'a cycle');
  const name = value.constructor?.name;
  if (ArrayBuffer.isView(value) && name && name in ARRAY_TYPES) {
    const base64 = Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64');
    return { [TAG]: 'array', type: name as ArrayName, base64 } satisfies Tagged;
  }
  path.add(value);
  try {
    if (Array.isArray(value)) return value.map((item, i) => encode(item, `${where}[${i}]`, path));
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype !== Object.prototype && prototype !== null)
      throw notSerializable(where, `a ${name ?? 'class'}`);
    const entries = Object.entries(value).map(([key, item]): [string, unknown] => [
      key,
      encode(item, where ? `${where}.${key}` : key, path),
    ]);
    return TAG in value ? ({ [TAG]: 'object', entries } satisfies Tagged) : Object.fromEntries(entries);
  } finally {
    path.delete(value);
  }
}

function decode(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(decode);
  if (TAG in value) return decodeTagged(value as Tagged);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, decode(item)]));
}

function decodeTagged(tagged: Tagged): unknown {
  switch (tagged[TAG]) {
    case 'array': {
      const bytes = Buffer.from(tagged.base64, 'base64');
      const copy = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
      return new ARRAY_TYPES[tagged.type](copy as ArrayBuffer);
    }
    case 'number':
      return Number(tagged.text);
    case 'bigint':
      return BigInt(tagged.text);
    case 'undefined':
      return undefined;
    case 'object':
      return Object.fromEntries(tagged.entries.map(([key, item]) => [key, decode(item)]));
  }
}

function notSerializable(where: string, what: string): AccError {
  return new AccError(
    'ACC_OBJECT_NOT_SERIALIZABLE',
    `${where ? `'${where}'` : 'The object'} is ${what}, which cannot be sent to another process.`,
    { help: 'Send plain objects, arrays, numbers, strings, booleans and typed arrays.' },
  );
}
