import { isPlainRecord } from './records.js';

/** What `JSON.stringify` takes as it is. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** What stands for a value that JSON has no form for. The kinds `number` and `object` are this codec's own. */
export interface Tag {
  readonly kind: string;
  readonly [key: string]: Json;
}

/** How values of other kinds are encoded, and what is said of those that can't be. */
export interface TaggedJsonRules {
  /**
   * What stands for a value that is no text, boolean, number, null, and so for arrays and records too: JSON, a {@link tagged}
   * one where it is to be recognised. undefined leaves the value to the codec.
   */
  encode?(value: unknown, where: string): Json | undefined;
  /** What the value under a key is called in `where`. */
  nameOf(where: string, key: string | number): string;
  /** The error for a value that cannot be encoded: `a function`, `a Map`, `a cycle`. */
  refuse(where: string, what: string): Error;
}

/** The only key of an object that holds a {@link Tag}. */
const KEY = '$acc';

/** Marks what the codec has to give to `decode`. */
export function tagged(tag: Tag): Json {
  return { [KEY]: tag };
}

/**
 * A value as plain JSON: NaN, infinities, -0 and records that have the codec's own key are tagged, values of other kinds are the
 * rules'. As in JSON, undefined is left out of records, and is null elsewhere.
 *
 * @param where What the value is called.
 * @throws What `refuse` gives, for cycles and for values that neither JSON nor the rules have a form for.
 */
export function encodeTagged(value: unknown, where: string, rules: TaggedJsonRules): Json {
  return new Encoder(rules).encode(value, where) ?? null;
}

class Encoder {
  /** What holds the value that is encoded. */
  readonly #above = new Set<object>();

  constructor(private readonly rules: TaggedJsonRules) {}

  /** undefined for undefined. */
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
    // By fromEntries, a key `__proto__` is data, never the prototype.
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
 * The value that {@link encodeTagged} encoded.
 *
 * @param decode Gives the value that stands for a tag of the rules.
 */
export function decodeTagged(json: Json, decode: (tag: Tag) => unknown): unknown {
  if (typeof json !== 'object' || json === null) return json;
  if (Array.isArray(json)) return (json as Json[]).map((item) => decodeTagged(item, decode));
  const tag = (json as Record<string, Json>)[KEY] as Tag | undefined;
  if (tag === undefined) return decodeEntries(json as Record<string, Json>, decode);
  if (tag.kind === 'number') return Number(tag['text']);
  if (tag.kind === 'object') return decodeEntries(tag['entries'] as Record<string, Json>, decode);
  return decode(tag);
}

function decodeEntries(entries: Readonly<Record<string, Json>>, decode: (tag: Tag) => unknown): object {
  return Object.fromEntries(Object.entries(entries).map(([key, item]) => [key, decodeTagged(item, decode)]));
}
