import { readdir, readFile } from 'node:fs/promises';
import { recordsOf, tarOf } from './files.js';

/** Valid files of formats of data. */

export async function tar(): Promise<Uint8Array> {
  const { png } = await images();
  const head = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n";
  const npy = Buffer.concat([
    Buffer.from(`\x93NUMPY\x01\x00${String.fromCharCode(head.length)}\0${head}`, 'latin1'),
    Buffer.alloc(8),
  ]);
  return tarOf([
    ['pax', '21 path=folder/a.txt\n', 'x'],
    ['a.txt', 'hello'],
    ['folder/a.json', '{"a":[1,2]}'],
    ['folder/a.npy', npy],
    ['b.txt', 'second'],
    ['b.cls', '7'],
    ['b.png', png],
  ]);
}

/** Messages of protocol buffers: fields of the wire type 2. */
const field = (number: number, ...content: readonly Uint8Array[]) => {
  const bytes = Buffer.concat(content);
  return Buffer.concat([Buffer.of(number * 8 + 2, bytes.length), bytes]);
};

export function records(): Uint8Array {
  const entry = (name: string, kind: number, list: Uint8Array) =>
    field(1, field(1, Buffer.from(name)), field(2, field(kind, list)));
  const example = (id: number) =>
    field(
      1,
      entry('id', 3, field(1, Buffer.of(id, 200, 1))),
      entry('x', 2, field(1, Buffer.from(new Uint8Array(Float32Array.of(1, 2).buffer)))),
      entry('text', 1, field(1, Buffer.from('hello'))),
    );
  return recordsOf([example(1), example(2), example(3)]);
}

export async function arrow(): Promise<Uint8Array[]> {
  const {
    Bool,
    Dictionary,
    Field,
    FixedSizeList,
    Float32,
    Int32,
    Int64,
    List,
    Table,
    tableToIPC,
    Utf8,
    vectorFromArray,
  } = await import('apache-arrow');
  const floats = new List(new Field('item', new Float32()));
  const pairs = new FixedSizeList(2, new Field('item', new Int32()));
  const table = new Table({
    name: vectorFromArray(['alpha', null, 'gamma', 'alpha'], new Dictionary(new Utf8(), new Int32())),
    text: vectorFromArray(['one', 'two', '', 'four'], new Utf8()),
    big: vectorFromArray([1n, 2n, 3n, 4n], new Int64()),
    flag: vectorFromArray([true, false, true, true], new Bool()),
    list: vectorFromArray([[1], [2, 3], [], [4, 5, 6]], floats),
  });
  const columns = new Table({
    x: vectorFromArray([1, 2, 3], new Int32()),
    pair: vectorFromArray(
      [
        [1, 2],
        [3, 4],
        [5, 6],
      ],
      pairs,
    ),
  });
  const stream = tableToIPC(table, 'stream');
  return [stream, Buffer.concat([Buffer.from('ARROW1\0\0'), stream]), tableToIPC(columns, 'stream')];
}

const PARQUET = new URL('../../packages/formats/src/testing/seeds/', import.meta.url);

export async function parquet(): Promise<Uint8Array[]> {
  const names = (await readdir(PARQUET)).filter((name) => name.endsWith('.parquet')).sort();
  return Promise.all(names.map((name) => readFile(new URL(name, PARQUET))));
}

export function lines(): Uint8Array {
  return Buffer.from(
    [1, 2, 3].map((id) => `{"id":${id},"text":"line ${id}","list":[[1,2],{"a":null}]}\n`).join(''),
  );
}

export function rows(): Uint8Array {
  return Buffer.from('id,text,note\n1,one,"a, ""b"""\n2,two,"two\nlines"\n3,three,\n');
}

/** Two documents of 5 and 7 tokens, in Megatron-LM's format. */
export function tokens(): Record<string, Uint8Array> {
  const lengths = [5, 7];
  const index = Buffer.alloc(34 + 2 * 12 + 3 * 8);
  index.write('MMIDIDX\0\0', 'latin1');
  index.writeBigUInt64LE(1n, 9);
  index.writeUInt8(8, 17);
  index.writeBigUInt64LE(2n, 18);
  index.writeBigUInt64LE(3n, 26);
  lengths.forEach((length, i) => index.writeInt32LE(length, 34 + 4 * i));
  [0n, 10n].forEach((place, i) => index.writeBigInt64LE(place, 42 + 8 * i));
  [0n, 1n, 2n].forEach((document, i) => index.writeBigInt64LE(document, 58 + 8 * i));
  return { 't.idx': index, 't.bin': Buffer.from(Uint16Array.from({ length: 12 }, (_, i) => i).buffer) };
}

export async function images(): Promise<{ png: Uint8Array; jpeg: Uint8Array; webp: Uint8Array }> {
  const { default: sharp } = await import('sharp');
  const raw = { width: 24, height: 20, channels: 3 } as const;
  const pixels = Uint8Array.from({ length: 24 * 20 * 3 }, (_, i) => (i * 7) % 256);
  const image = () => sharp(pixels, { raw });
  const [png, jpeg, webp] = await Promise.all([
    image().png().toBuffer(),
    image().jpeg().toBuffer(),
    image().webp().toBuffer(),
  ]);
  return { png, jpeg, webp };
}
