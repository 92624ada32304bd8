import { isAccError } from '@acc/contract';
import { shaped, type ShapedArray } from '../samples/shaped-array.js';
import { badColumn, badFormat, type SamplePlace } from '../errors.js';
import { parseJson } from '@acc/contract';
import { parseNpy } from './npy.js';
import type { DecodeImage } from './decode-image.js';

/** The endings of fields by their content, as WebDataset's own decoder knows them. */
const ENDINGS: Readonly<Record<string, readonly string[]>> = {
  text: ['txt', 'text', 'transcript'],
  number: ['cls', 'cls2', 'class', 'count', 'index', 'inx', 'id'],
  json: ['json', 'jsn'],
  npy: ['npy'],
  image: ['jpg', 'jpeg', 'png', 'webp', 'gif', 'tif', 'tiff', 'avif'],
  python: ['pyd', 'pickle', 'pkl', 'pth', 'pt'],
};

const KINDS = new Map(Object.entries(ENDINGS).flatMap(([kind, names]) => names.map((name) => [name, kind])));

/**
 * The value of a field by its ending. Fields with other endings stay bytes.
 *
 * @throws AccError `ACC_DATA_FORMAT`, `ACC_DATA_COLUMN` (content that only Python can read).
 */
export async function decodeField(
  field: string,
  bytes: Uint8Array,
  decodeImage: DecodeImage,
  place: SamplePlace,
): Promise<unknown> {
  const kind = KINDS.get(field.slice(field.lastIndexOf('.') + 1));
  if (kind === undefined) return bytes;
  if (kind === 'python') {
    throw badColumn(
      place,
      `the field '${field}' is in a format of Python (pickle), which can run any program`,
      {
        help: 'Leave it out: name the fields that you need in the option fields.',
      },
    );
  }
  try {
    if (kind === 'image') return await decodeImage(bytes);
    return decodePlain(kind, bytes);
  } catch (cause) {
    if (isAccError(cause)) throw cause;
    throw badFormat(place, `the field '${field}' cannot be decoded: ${(cause as Error).message}`, { cause });
  }
}

function decodePlain(kind: string, bytes: Uint8Array): unknown {
  if (kind === 'npy') return parseNpy(bytes);
  const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  if (kind === 'text') return text;
  if (kind === 'json') return parseJson(text);
  return int32Of(text);
}

/** Labels become int32, as integers do in Python. */
function int32Of(text: string): ShapedArray {
  const value = Number(text.trim());
  if (text.trim() === '' || !Number.isInteger(value) || value !== (value | 0)) {
    throw new RangeError(`${JSON.stringify(text.slice(0, 20))} is no integer of 32 bits`);
  }
  return shaped(Int32Array.of(value), []);
}
