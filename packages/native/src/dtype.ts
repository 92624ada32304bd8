import { AccError, type NativeDtype } from '@acc/contract';

type TypedArrayConstructor =
  | Float32ArrayConstructor
  | Float64ArrayConstructor
  | Int32ArrayConstructor
  | Int16ArrayConstructor
  | Int8ArrayConstructor
  | Uint8ArrayConstructor
  | Uint16ArrayConstructor
  | BigInt64ArrayConstructor;

interface DtypeFacts {
  /** The number of the element type in c10::ScalarType. */
  readonly scalarType: number;
  /**
   * The typed array for its elements in JavaScript. Floats of 16 and 8 bits are passed as their bit
   * patterns.
   */
  readonly array: TypedArrayConstructor | Uint32ArrayConstructor | BigUint64ArrayConstructor;
}

/**
 * Element types that no kernel computes with. A scaled product (`aten::_scaled_mm`) has factors of
 * the first two. The others are those of results, such as the random seed of attention on a GPU.
 */
type PassedDtype = 'float8_e4m3fn' | 'float8_e5m2' | 'uint16' | 'uint32' | 'uint64';

const FACTS: Readonly<Record<NativeDtype | PassedDtype, DtypeFacts>> = {
  uint8: { scalarType: 0, array: Uint8Array },
  int8: { scalarType: 1, array: Int8Array },
  int16: { scalarType: 2, array: Int16Array },
  int32: { scalarType: 3, array: Int32Array },
  int64: { scalarType: 4, array: BigInt64Array },
  float16: { scalarType: 5, array: Uint16Array },
  float32: { scalarType: 6, array: Float32Array },
  float64: { scalarType: 7, array: Float64Array },
  // Real and imaginary parts alternate, as in tfjs.
  complex64: { scalarType: 9, array: Float32Array },
  bool: { scalarType: 11, array: Uint8Array },
  bfloat16: { scalarType: 15, array: Uint16Array },
  float8_e5m2: { scalarType: 23, array: Uint8Array },
  float8_e4m3fn: { scalarType: 24, array: Uint8Array },
  uint16: { scalarType: 27, array: Uint16Array },
  uint32: { scalarType: 28, array: Uint32Array },
  uint64: { scalarType: 29, array: BigUint64Array },
};

const NAME_OF_SCALAR_TYPE = new Map(
  Object.entries(FACTS).map(([name, facts]) => [facts.scalarType, name as NativeDtype]),
);

/** libtorch's number of an element type. @throws AccError `ACC_DTYPE_UNKNOWN`. */
export function scalarTypeOf(dtype: NativeDtype): number {
  const facts = FACTS[dtype];
  if (!facts) {
    throw new AccError('ACC_DTYPE_UNKNOWN', `Native tensors do not support the element type '${dtype}'.`, {
      help: `Known: ${Object.keys(FACTS).join(', ')}.`,
    });
  }
  return facts.scalarType;
}

/** The element type with libtorch's number `scalarType`. @throws AccError `ACC_DTYPE_UNKNOWN`. */
export function dtypeOf(scalarType: number): NativeDtype {
  const name = NAME_OF_SCALAR_TYPE.get(scalarType);
  if (!name) {
    throw new AccError('ACC_DTYPE_UNKNOWN', `The element type ${scalarType} of libtorch is not supported.`, {
      help: `Known: ${Object.keys(FACTS).join(', ')}.`,
    });
  }
  return name;
}

/** The typed array that elements of `dtype` are read into. */
export function arrayTypeOf(dtype: NativeDtype): TypedArrayConstructor {
  return FACTS[dtype].array as TypedArrayConstructor;
}
