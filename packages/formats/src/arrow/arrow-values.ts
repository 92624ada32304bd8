import type * as Arrow from 'apache-arrow';
import type { ArrowModule } from './arrow-layout.js';

/**
 * Checks that all values of a column lie within its buffers: offsets, lengths of lists, and the
 * numbers of words in dictionaries. The library reads what is there, or loops over what is not.
 *
 * @throws RangeError
 */
export function verifyValues({ DataType }: ArrowModule, vector: Arrow.Vector): void {
  for (const part of vector.data) verify(DataType, part);
}

type Types = ArrowModule['DataType'];

function verify(types: Types, data: Arrow.Data): void {
  const { type, nullCount } = data;
  const rows = data.offset + data.length;
  if (nullCount > 0) atLeast('bits of nulls', data.nullBitmap.byteLength * 8, rows);
  if (types.isDictionary(type)) return verifyDictionary(types, data as Arrow.Data<Arrow.Dictionary>);
  if (types.isList(type) || types.isLargeList(type)) {
    atLeast('items of lists', data.children[0]!.length, verifyOffsets(data));
    return verify(types, data.children[0]!);
  }
  if (types.isFixedSizeList(type)) {
    atLeast('items of lists', data.children[0]!.length, rows * sizeOf(type.listSize));
    return verify(types, data.children[0]!);
  }
  const { byteLength } = data.values as Uint8Array;
  if (types.isUtf8(type) || types.isLargeUtf8(type) || types.isBinary(type) || types.isLargeBinary(type)) {
    return atLeast('bytes', byteLength, verifyOffsets(data));
  }
  if (types.isBool(type)) return atLeast('bits', byteLength * 8, rows);
  const width = types.isFixedSizeBinary(type) ? sizeOf(type.byteWidth) : type.ArrayType.BYTES_PER_ELEMENT;
  atLeast('bytes', byteLength, rows * width * (types.isFixedSizeBinary(type) ? 1 : data.stride));
}

function verifyDictionary(types: Types, data: Arrow.Data<Arrow.Dictionary>): void {
  const { dictionary, values, offset, length } = data;
  if (!dictionary) throw new RangeError('a dictionary is missing');
  const indices = values as Int32Array;
  atLeast('indices', indices.length, offset + length);
  for (let row = 0; row < length; row++) {
    const word = indices[offset + row]!;
    if (!(word >= 0 && word < dictionary.length) && data.getValid(row)) {
      throw new RangeError(`row ${row} has word ${word} of a dictionary of ${dictionary.length}`);
    }
  }
  for (const part of dictionary.data) verify(types, part);
}

/** The end of the last value. Offsets ascend from 0 on. */
function verifyOffsets({ valueOffsets, offset, length }: Arrow.Data): number {
  if (length === 0) return 0;
  const offsets = valueOffsets as Int32Array | BigInt64Array;
  atLeast('offsets', offsets.length, offset + length + 1);
  let last = 0;
  for (let row = offset; row <= offset + length; row++) {
    const next = Number(offsets[row]);
    if (!(next >= last)) throw new RangeError(`an offset is ${next}, and the one before it ${last}`);
    last = next;
  }
  return last;
}

function sizeOf(count: number): number {
  if (count >= 0) return count;
  throw new RangeError(`a size is ${count}`);
}

function atLeast(what: string, present: number, needed: number): void {
  if (!(present >= needed)) throw new RangeError(`it has ${present} ${what}, and needs ${needed}`);
}
