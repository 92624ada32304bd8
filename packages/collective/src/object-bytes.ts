import { fromBase64, toBase64 } from '@acc/platform';
import {
  AccError,
  decodeTagged,
  encodeTagged,
  tagged,
  type Json,
  type Tag,
  type TaggedJsonRules,
} from '@acc/contract';

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

const RULES: TaggedJsonRules = {
  encode(value) {
    if (value === undefined) return tagged({ kind: 'undefined' });
    if (typeof value === 'bigint') return tagged({ kind: 'bigint', text: String(value) });
    if (!ArrayBuffer.isView(value)) return undefined;
    const type = value.constructor.name;
    if (!(type in ARRAY_TYPES)) return undefined;
    const base64 = toBase64(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
    return tagged({ kind: 'array', type, base64 });
  },
  nameOf(where, key) {
    if (typeof key === 'number') return `${where}[${key}]`;
    return where ? `${where}.${key}` : key;
  },
  refuse: notSerializable,
};

/**
 * Serializes a value to bytes: JSON extended by typed arrays, NaN, infinities, -0, bigint and
 * undefined. Reading it never runs code.
 *
 * @throws AccError `ACC_OBJECT_NOT_SERIALIZABLE` for functions, symbols, class instances and
 * cycles.
 */
export function objectToBytes(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(encodeTagged(value, '', RULES)));
}

/** Reads a value that {@link objectToBytes} wrote. */
export function objectFromBytes(bytes: Uint8Array): unknown {
  return decodeTagged(JSON.parse(new TextDecoder().decode(bytes)) as Json, decode);
}

function decode({ kind, text, type, base64 }: Tag): unknown {
  if (kind === 'undefined') return undefined;
  if (kind === 'bigint') return BigInt(text as string);
  return new ARRAY_TYPES[type as ArrayName](fromBase64(base64 as string).buffer);
}

function notSerializable(where: string, what: string): AccError {
  return new AccError(
    'ACC_OBJECT_NOT_SERIALIZABLE',
    `${where ? `'${where}'` : 'The object'} is ${what}, which cannot be sent to another process.`,
    { help: 'Send plain objects, arrays, numbers, strings, booleans and typed arrays.' },
  );
}
