import type { WrittenWeight } from '@acc/checkpoint';
import { AccError, type TensorBytes } from '@acc/contract';
import { nearestEven } from '@acc/kernels';

/** How matrices are packed in files. */
export interface PackedFormat {
  readonly weights: 'int8' | 'int4';
  /** `row`: each output channel has a scale. Else each group of consecutive values has one. */
  readonly granularity: 'row' | { readonly group: number };
}

/** Whole numbers of each format, and the number that the largest magnitude of a group becomes. */
const FORMATS = {
  int8: { bits: 8, least: -127, most: 127, largest: 127 },
  // As compressed-tensors divides the range of 4 bits.
  int4: { bits: 4, least: -8, most: 7, largest: 7.5 },
} as const;

/** The smallest magnitude that a scale is made for. */
const LEAST = 1e-30;

/** The `quantization_config` of a config.json, as compressed-tensors has it. */
export function packedConfig({ weights, granularity }: PackedFormat): object {
  const ofWeights = {
    num_bits: FORMATS[weights].bits,
    type: 'int',
    symmetric: true,
    strategy: granularity === 'row' ? 'channel' : 'group',
    group_size: granularity === 'row' ? null : granularity.group,
    dynamic: false,
  };
  return {
    quant_method: 'compressed-tensors',
    format: 'pack-quantized',
    quantization_status: 'compressed',
    ignore: ['lm_head'],
    config_groups: { group_0: { targets: ['Linear'], weights: ofWeights } },
  };
}

/**
 * The tensors of a packed matrix, in place of the matrix itself.
 *
 * @throws AccError `ACC_QUANTIZE_SHAPE` for a group that does not divide its rows.
 */
export function packedWeights(weight: WrittenWeight, format: PackedFormat): WrittenWeight[] {
  const [rows, columns] = weight.shape as [number, number];
  const group = format.granularity === 'row' ? columns : format.granularity.group;
  if (columns % group !== 0) throw groupDoesNotDivide(weight, group);
  const { bits } = FORMATS[format.weights];
  const module = weight.name.slice(0, -'.weight'.length);
  const packed = async () => {
    using held = await weight.open();
    const { buffer, byteOffset, byteLength } = held.bytes;
    const values = new Float32Array(buffer, byteOffset, byteLength / 4);
    return pack(values, [rows, columns], { group, format, weight });
  };
  // Scales are small, and mostly written soon after the numbers.
  let known: Float32Array | undefined;
  const words = async () => {
    const { words: numbers, scales } = await packed();
    known = scales;
    return numbers;
  };
  const scales = async () => {
    const found = known ?? (await packed()).scales;
    known = undefined;
    return found;
  };
  return [
    {
      name: `${module}.weight_packed`,
      dtype: 'int32',
      shape: [rows, Math.ceil((columns * bits) / 32)],
      open: async () => own(await words()),
    },
    {
      name: `${module}.weight_scale`,
      dtype: 'float32',
      shape: [rows, columns / group],
      open: async () => own(await scales()),
    },
    {
      name: `${module}.weight_shape`,
      dtype: 'int64',
      shape: [2],
      open: () => Promise.resolve(own(BigInt64Array.of(BigInt(rows), BigInt(columns)))),
    },
  ];
}

function own({ buffer, byteOffset, byteLength }: NodeJS.TypedArray): TensorBytes {
  return { bytes: new Uint8Array(buffer, byteOffset, byteLength), dispose() {}, [Symbol.dispose]() {} };
}

interface Packing {
  readonly group: number;
  readonly format: PackedFormat;
  readonly weight: WrittenWeight;
}

function pack(
  values: Float32Array,
  [rows, columns]: readonly [number, number],
  { group, format, weight }: Packing,
) {
  const { bits, least, most, largest } = FORMATS[format.weights];
  const each = 32 / bits;
  const wordsOfRow = Math.ceil(columns / each);
  const words = new Int32Array(rows * wordsOfRow);
  const scales = new Float32Array(values.length / group);
  for (let g = 0; g < scales.length; g++) {
    const from = g * group;
    const magnitude = largestOf(values.subarray(from, from + group));
    if (!Number.isFinite(magnitude)) throw notFinite(weight.name);
    const scale = Math.fround(Math.max(magnitude, LEAST) / largest);
    scales[g] = scale;
    for (let i = from; i < from + group; i++) {
      const number = Math.min(most, Math.max(least, nearestEven(Math.fround(values[i]! / scale))));
      const [row, column] = [Math.floor(i / columns), i % columns];
      const word = row * wordsOfRow + Math.floor(column / each);
      words[word] = words[word]! | ((number + 2 ** (bits - 1)) << ((column % each) * bits));
    }
  }
  return { words, scales };
}

/** NaN if a value is NaN. */
function largestOf(values: Float32Array): number {
  let largest = 0;
  for (const value of values) largest = Math.max(largest, Math.abs(value));
  return largest;
}

function groupDoesNotDivide({ name, shape }: WrittenWeight, group: number): AccError {
  return new AccError(
    'ACC_QUANTIZE_SHAPE',
    `'${name}' has rows of ${shape[1]} values, which groups of ${group} do not divide.`,
    {
      help: "Write granularity: 'row', or a smaller group.",
      details: { name, shape, group },
    },
  );
}

function notFinite(name: string): AccError {
  return new AccError('ACC_QUANTIZE_VALUES', `'${name}' has values that are NaN or infinite.`, {
    help: 'Load or train weights that are finite. A scale cannot be made for others.',
    details: { name },
  });
}
