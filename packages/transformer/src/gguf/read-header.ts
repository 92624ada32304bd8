import { AccError } from '@acc/contract';
import { ByteCursor, hasByte, type StoredFile } from './byte-cursor.js';
import { invalidGguf } from './errors.js';
import { readMetadata, type MetadataValue } from './read-metadata.js';
import { otherType, TENSOR_TYPES, type TensorType } from './tensor-types.js';

/** A tensor of a file. */
export interface GgufTensor {
  readonly name: string;
  /** As tfjs has it: the last dim is that of consecutive values. ggml has it first. */
  readonly shape: readonly number[];
  readonly type: TensorType;
  /** The offset of its first byte in the file. */
  readonly start: number;
  readonly byteLength: number;
}

export interface GgufHeader {
  readonly metadata: ReadonlyMap<string, MetadataValue>;
  readonly tensors: readonly GgufTensor[];
}

const MAGIC = 0x46554747; // 'GGUF'
/** Version 1 has other lengths, and has not been written since August 2023. */
const VERSIONS = [2, 3];
const BIG_ENDIAN = VERSIONS.map((version) => version << 24);
const MAX_RANK = 4;
/** ggml's own limit is 64. */
const MAX_NAME = 1024;
const DEFAULT_ALIGNMENT = 32;
/** Of tensors, and of metadata: many more than files have, and few enough to be held. */
const MAX_COUNT = 2 ** 20;

/**
 * Reads what a GGUF file says about itself, and checks that its tensors are where it says. No values are
 * read.
 *
 * @throws AccError `ACC_GGUF_INVALID`, `ACC_DTYPE_UNSUPPORTED` for a tensor of a type that is not read.
 */
export async function readHeader(file: StoredFile): Promise<GgufHeader> {
  const { where } = file;
  const cursor = new ByteCursor(file);
  await cursor.load(4);
  if (cursor.u32() !== MAGIC) throw invalidGguf(where, "it does not begin with 'GGUF'");
  await cursor.load(20);
  const version = cursor.u32();
  if (BIG_ENDIAN.includes(version)) throw invalidGguf(where, 'its numbers are big-endian, which is not read');
  if (!VERSIONS.includes(version)) {
    throw invalidGguf(where, `its version is ${version}; expected one of ${VERSIONS.join(', ')}`);
  }
  const tensorCount = cursor.count('the number of its tensors', MAX_COUNT);
  const metadataCount = cursor.count('the number of its metadata', MAX_COUNT);
  const metadata = await readMetadata(cursor, metadataCount, where);
  const described = await readTensors(cursor, tensorCount, where);
  // Long values of the metadata were passed over.
  if (!(await hasByte(file, cursor.offset - 1))) {
    throw invalidGguf(where, `it ends before byte ${cursor.offset}, within its header`);
  }
  const alignment = alignmentOf(metadata, where);
  const first = Math.ceil(cursor.offset / alignment) * alignment;
  const tensors = described.map((tensor) => placed(tensor, { first, alignment }, where));
  await requireData(tensors, file);
  return { metadata, tensors };
}

function alignmentOf(metadata: ReadonlyMap<string, MetadataValue>, where: string): number {
  const alignment = metadata.get('general.alignment') ?? DEFAULT_ALIGNMENT;
  if (typeof alignment === 'number' && alignment >= 8 && alignment <= 2 ** 20 && alignment % 8 === 0)
    return alignment;
  throw invalidGguf(where, `its general.alignment is ${String(alignment)}`);
}

interface Described {
  readonly name: string;
  /** As in the file. */
  readonly dims: readonly number[];
  readonly type: number;
  /** From the first byte of data. */
  readonly offset: number;
}

async function readTensors(cursor: ByteCursor, count: number, where: string): Promise<Described[]> {
  const found = new Map<string, Described>();
  for (let i = 0; i < count; i++) {
    await cursor.load(8);
    const length = cursor.count(`the length of the name of tensor ${i}`);
    if (length === 0 || length > MAX_NAME)
      throw invalidGguf(where, `the name of tensor ${i} has ${length} bytes`);
    const name = await cursor.text(length);
    if (found.has(name)) throw invalidGguf(where, `it has two tensors '${name}'`);
    await cursor.load(4);
    const rank = cursor.u32();
    if (rank === 0 || rank > MAX_RANK) throw invalidGguf(where, `'${name}' has ${rank} dims`);
    await cursor.load(8 * rank + 12);
    const dims = Array.from({ length: rank }, () => cursor.count(`a dim of '${name}'`));
    const type = cursor.u32();
    found.set(name, { name, dims, type, offset: cursor.count(`the offset of '${name}'`) });
  }
  return [...found.values()];
}

interface Layout {
  /** The offset of the first byte of data. */
  readonly first: number;
  readonly alignment: number;
}

function placed(
  { name, dims, type: number, offset }: Described,
  { first, alignment }: Layout,
  where: string,
): GgufTensor {
  const type = TENSOR_TYPES.get(number);
  if (!type) throw unsupportedType(name, number, where);
  const shape = [...dims].reverse();
  const size = dims.reduce((product, dim) => product * dim, 1);
  const byteLength = (size / type.values) * type.bytes;
  const start = first + offset;
  if (dims[0]! % type.values !== 0) {
    throw invalidGguf(
      where,
      `'${name}' has rows of ${dims[0]} values, which blocks of ${type.name} with ${type.values} do not divide`,
    );
  }
  // In float32, values take four bytes each.
  if (size === 0 || !Number.isSafeInteger(4 * size) || !Number.isSafeInteger(start + byteLength)) {
    throw invalidGguf(
      where,
      `'${name}' of shape [${shape.join()}] at byte ${offset} of the data has no possible size`,
    );
  }
  if (offset % alignment !== 0) {
    throw invalidGguf(
      where,
      `'${name}' begins at byte ${offset} of the data, which is no multiple of ${alignment}`,
    );
  }
  return { name, shape, type, start, byteLength };
}

function unsupportedType(name: string, type: number, where: string): AccError {
  return new AccError(
    'ACC_DTYPE_UNSUPPORTED',
    `${where}: '${name}' is of the GGUF type ${otherType(type)}, which is not read.`,
    {
      help: `Quantize the model to one of ${[...TENSOR_TYPES.values()].map((known) => known.name).join(', ')} with llama.cpp's llama-quantize.`,
      details: { name, type },
    },
  );
}

/** @throws AccError `ACC_GGUF_INVALID` for tensors that overlap, or that the file ends before. */
async function requireData(tensors: readonly GgufTensor[], file: StoredFile): Promise<void> {
  const sorted = [...tensors].sort((a, b) => a.start - b.start);
  sorted.forEach(({ name, start }, i) => {
    const before = sorted[i - 1];
    if (before && before.start + before.byteLength > start) {
      throw invalidGguf(file.where, `the data of '${before.name}' and '${name}' overlap`);
    }
  });
  const last = sorted.at(-1);
  if (!last || (await hasByte(file, last.start + last.byteLength - 1))) return;
  for (const { name, start, byteLength } of sorted) {
    if (await hasByte(file, start + byteLength - 1)) continue;
    throw invalidGguf(
      file.where,
      `it ends before the last byte of '${name}', which is byte ${start + byteLength}`,
    );
  }
}
