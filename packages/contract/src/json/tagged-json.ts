import { isPlainRecord } from '../records/records.js';

/** A value that `JSON.stringify` can encode. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/**
 * Replaces a value that JSON cannot represent. The kinds `number` and `object` are reserved for
 * this codec.
 */
export interface Tag {
  readonly kind: string;
  readonly [key: string]: Json;
}

/** How values of other kinds are encoded, and which error is thrown for those that cannot be. */
export interface TaggedJsonRules {
  /**
   * Encodes a value other than a string, boolean, number or null, including arrays and records.
   * Returns JSON, or a {@link tagged} value that `decode` will recognise. Undefined leaves the
   * value to the codec.
   */
  encode?(value: unknown, where: string): Json | undefined;
  /** The name of the value under a key, for `where`. */
  nameOf(where: string, key: string | number): string;
  /**
   * The error for a value that cannot be encoded. `what` is, for example, `a function`, `a Map`, `a
   * cycle`.
   */
  refuse(where: string, what: string): Error;
}

/** The only key of an object that holds a {@link Tag}. */
const KEY = '$acc';

/** Marks a value that the codec will pass to `decode`. */
export function tagged(tag: Tag): Json {
  return { [KEY]: tag };
}

/**
 * Encodes a value as plain JSON. NaN, infinities, -0 and records that contain the codec's own key
 * are tagged. The rules encode values of other kinds. As in JSON, undefined is left out of records
 * and becomes null elsewhere.
 *
 * @param where The name of the value.
 * @throws The error of `refuse`, for cycles and for values that neither JSON nor the rules can
 * represent.
 */
export function encodeTagged(value: unknown, where: string, rules: TaggedJsonRules): Json {
  return new Encoder(rules).encode(value, where) ?? null;
}

class Encoder {
  /** The objects that contain the current value. */
  readonly #above = new Set<object>();

  constructor(private readonly rules: TaggedJsonRules) {}

  /** Undefined for undefined. */
  encode(value: unknown, where: string): Json | undefined {
    if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
    if (typeof value === 'number') return encodeNumber(value);
    const own = this.rules.encode?.(value, where);
    if (own !== undefined || value === undefined) return own;
    if (typeof value !== 'object') throw this.rules.refuse(where, `a ${typeof value}`);
    if (this.#above.has(value)) throw this.rules.refuse(where, 'a cycle');
    this.#above.add(value);
    const json = this.#children(value, where);
    this.#above.delete(value);
    return json;
  }

  #children(value: object, where: string): Json {
    const { nameOf, refuse } = this.rules;
    if (Array.isArray(value)) return value.map((item, i) => this.encode(item, nameOf(where, i)) ?? null);
    if (!isPlainRecord(value)) throw refuse(where, `a ${value.constructor?.name ?? 'class instance'}`);
    // With fromEntries, a key `__proto__` is data and never sets the prototype.
    const entries = Object.fromEntries(
      Object.entries(value).flatMap(([key, child]) => {
        const json = this.encode(child, nameOf(where, key));
        return json === undefined ? [] : [[key, json]];
      }),
    ) as Record<string, Json>;
    return KEY in entries ? tagged({ kind: 'object', entries }) : entries;
  }
}

function encodeNumber(value: number): Json {
  if (Object.is(value, -0)) return tagged({ kind: 'number', text: '-0' });
  return Number.isFinite(value) ? value : tagged({ kind: 'number', text: String(value) });
}

/**
 * Decodes a value of {@link encodeTagged}.
 *
 * @param decode Returns the value for a tag of the rules.
 * @throws RangeError for JSON that `encodeTagged` does not write.
 */
export function decodeTagged(json: Json, decode: (tag: Tag) => unknown): unknown {
  if (typeof json !== 'object' || json === null) return json;
  if (Array.isArray(json)) return (json as Json[]).map((item) => decodeTagged(item, decode));
  const tag = (json as Record<string, Json>)[KEY] as Tag | undefined;
  if (tag === undefined) return decodeEntries(json as Record<string, Json>, decode);
  if (!isPlainRecord(tag) || typeof tag.kind !== 'string')
    throw new RangeError(`a value has no valid ${KEY}`);
  if (tag.kind === 'number') return Number(tag['text']);
  if (tag.kind === 'object') {
    if (!isPlainRecord(tag['entries'])) throw new RangeError(`an object of ${KEY} has no entries`);
    return decodeEntries(tag['entries'] as Record<string, Json>, decode);
  }
  return decode(tag);
}

function decodeEntries(entries: Readonly<Record<string, Json>>, decode: (tag: Tag) => unknown): object {
  return Object.fromEntries(Object.entries(entries).map(([key, item]) => [key, decodeTagged(item, decode)]));
}
