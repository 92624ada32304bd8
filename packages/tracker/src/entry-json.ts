import {
  decodeTagged,
  encodeTagged,
  isPlainRecord,
  tagged,
  type Json,
  type Tag,
  type TaggedJsonRules,
} from '@acc/contract';
import { fromBase64, toBase64 } from '@acc/platform';
import type { Entry } from './entry.js';
import { invalidValue } from './errors.js';
import { Picture } from './payload/picture.js';

const RULES: TaggedJsonRules = {
  encode(value) {
    if (value instanceof Picture) {
      const { width, height, png } = value.getNow();
      return tagged({ kind: 'image', width, height, base64: toBase64(png) });
    }
    // A config may contain instances of classes. They are stored as their JSON: a Date becomes a
    // string.
    if (typeof value !== 'object' || Array.isArray(value) || isPlainRecord(value)) return undefined;
    return JSON.parse(JSON.stringify(value)) as Json;
  },
  nameOf: (where, key) => `${where}/${key}`,
  refuse: (where, what) => invalidValue(where, `this is ${what}`, 'Log plain values.'),
};

/** Encodes an entry as one line of JSON. */
export function encodeEntry(entry: Entry): string {
  return JSON.stringify(encodeTagged(entry, entry.kind, RULES));
}

/** Decodes a line of {@link encodeEntry}. Undefined for an incomplete line. */
export function decodeEntry(line: string): Entry | undefined {
  let json: Json;
  try {
    json = JSON.parse(line) as Json;
  } catch {
    return undefined;
  }
  return decodeTagged(json, pictureOf) as Entry;
}

function pictureOf({ width, height, base64 }: Tag): Picture {
  const png = fromBase64(base64 as string);
  return new Picture({ width: width as number, height: height as number, png });
}
