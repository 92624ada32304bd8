import { shaped, sizeOf, type ShapedArray } from '../samples/shaped-array.js';
import type { NumberArray } from '../samples/shaped-array.js';

const MAGIC = '\x93NUMPY';

/** The dtypes that become tensors, by NumPy's names. 64-bit integers must fit in 32 bits. */
const DTYPES: Readonly<Record<string, (bytes: ArrayBuffer) => NumberArray>> = {
  '<f4': (bytes) => new Float32Array(bytes),
  '<f8': (bytes) => Float32Array.from(new Float64Array(bytes)),
  '<i4': (bytes) => new Int32Array(bytes),
  '<i2': (bytes) => new Int16Array(bytes),
  '<u2': (bytes) => new Uint16Array(bytes),
  '|i1': (bytes) => new Int8Array(bytes),
  '|u1': (bytes) => new Uint8Array(bytes),
  '|b1': (bytes) => new Uint8Array(bytes),
  '<i8': (bytes) => narrowed(new BigInt64Array(bytes)),
};

/**
 * An array of NumPy (format versions 1 to 3, NEP 1). float64 is rounded to float32.
 *
 * @throws RangeError if it is none, or has a dtype that tensors do not have.
 */
export function parseNpy(bytes: Uint8Array): ShapedArray {
  if (Buffer.from(bytes.subarray(0, 6)).toString('latin1') !== MAGIC)
    throw new RangeError('it is no array of NumPy');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const isFirst = bytes[6] === 1;
  const headerBytes = isFirst ? view.getUint16(8, true) : view.getUint32(8, true);
  const at = isFirst ? 10 : 12;
  const header = Buffer.from(bytes.subarray(at, at + headerBytes)).toString('utf8');
  const dtype = /'descr':\s*'([^']+)'/.exec(header)?.[1] ?? 'a record';
  const shape = /'shape':\s*\(([^)]*)\)/
    .exec(header)?.[1]
    ?.split(',')
    .map((dim) => dim.trim());
  const make = DTYPES[dtype];
  if (!make || !shape) throw new RangeError(`its dtype ${dtype} is not supported`);
  const dims = shape.filter((dim) => dim !== '').map(Number);
  if (/'fortran_order':\s*True/.test(header) && dims.length > 1) {
    throw new RangeError('it is in the order of Fortran: save it with numpy.ascontiguousarray');
  }
  if (!dims.every((dim) => Number.isSafeInteger(dim) && dim >= 0)) {
    throw new RangeError(`its shape is (${shape.join(', ')})`);
  }
  const data = make(bytes.slice(at + headerBytes).buffer);
  if (data.length !== sizeOf(dims)) throw new RangeError('it is cut off');
  return shaped(data, dims);
}

function narrowed(values: BigInt64Array): Int32Array {
  const narrow = Int32Array.from(values, Number);
  if (narrow.every((value, i) => BigInt(value) === values[i])) return narrow;
  throw new RangeError('it has integers that do not fit in 32 bits');
}
