import { isRecord, type StateLayer } from '@acc/contract';
import { invalidPacked, unsupportedQuantization } from './errors.js';
import { groupIndices, requireEqualGroups } from './groups.js';
import { numberIn, type PackedWeight, type Packing, type Parts } from './parts.js';

const OTHERS = ['weight_scale', 'weight_zero_point', 'weight_g_idx'];

/**
 * The layouts `pack-quantized` and `int-quantized` of compressed-tensors: whole numbers with a scale, and
 * perhaps a zero point, for each row or each group of columns.
 */
export function compressedTensors(config: Readonly<Record<string, unknown>>): Packing {
  const { format, config_groups: groups } = config;
  const schemes = isRecord(groups) ? Object.values(groups).map(schemeOf) : [];
  const every = (is: (scheme: Scheme) => boolean) => schemes.length > 0 && schemes.every(is);
  const needed = [
    ...(every(({ symmetric }) => symmetric === false) ? ['weight_zero_point'] : []),
    ...(every(({ actorder }) => actorder === 'group') ? ['weight_g_idx'] : []),
  ];
  const checked =
    (open: Packing['open']): Packing['open'] =>
    (parts, layer) => {
      for (const end of needed) parts.get(end);
      return open(parts, layer);
    };
  if (format === 'pack-quantized') {
    const ends = ['weight_packed', 'weight_shape', ...OTHERS];
    return { marker: 'weight_packed', ends, open: checked(openWords) };
  }
  if (format === 'int-quantized') {
    return { marker: 'weight_scale', ends: ['weight', ...OTHERS], open: checked(openBytes) };
  }
  throw unsupportedQuantization(`has the format ${JSON.stringify(format)} of compressed-tensors`);
}

type Scheme = Readonly<Record<string, unknown>>;

/** Fields of a scheme, and the values that are read. */
const READ: readonly (readonly [key: string, ...known: unknown[]])[] = [
  ['type', 'int'],
  ['num_bits', 4, 8],
  ['strategy', 'channel', 'group'],
];

/** How the weights of some modules are quantized. */
function schemeOf(group: unknown): Scheme {
  const weights = isRecord(group) ? group['weights'] : undefined;
  const scheme = isRecord(weights) ? weights : {};
  for (const [key, ...known] of READ) {
    const value = scheme[key] ?? known[0];
    if (!known.includes(value)) {
      throw unsupportedQuantization(
        `has weights with ${key} = ${JSON.stringify(value)}; expected ${known.map((each) => JSON.stringify(each)).join(' or ')}`,
      );
    }
  }
  return scheme;
}

async function openWords(parts: Parts, layer: StateLayer): Promise<PackedWeight> {
  parts.require('weight_shape', [2]);
  const [rows, columns] = [...(await parts.wholes('weight_shape', layer))] as [number, number];
  const [, words] = parts.get('weight_packed', 2).shape as [number, number];
  const bits = [4, 8].find((each) => Math.ceil((columns * each) / 32) === words);
  if (bits === undefined) {
    throw invalidPacked(
      `${parts.prefix}weight_packed`,
      `has ${words} words a row for ${columns} columns; expected 4 or 8 bits each`,
    );
  }
  parts.require('weight_packed', [rows, words]);
  const each = 32 / bits;
  return scaled(parts, {
    shape: [rows, columns],
    numbers: async (with_) => {
      const packed = await parts.wholes('weight_packed', with_);
      return (row, column) =>
        numberIn(packed[row * words + Math.floor(column / each)]!, column % each, bits) - 2 ** (bits - 1);
    },
    zeros: {
      shapeOf: (groups) => [Math.ceil(rows / each), groups],
      read: (packed, groups) => (row, group) =>
        numberIn(packed[Math.floor(row / each) * groups + group]!, row % each, bits) - 2 ** (bits - 1),
    },
  });
}

function openBytes(parts: Parts): PackedWeight {
  const [rows, columns] = parts.get('weight', 2).shape as [number, number];
  return scaled(parts, {
    shape: [rows, columns],
    numbers: async (layer) => {
      const numbers = await parts.wholes('weight', layer);
      return (row, column) => numbers[row * columns + column]!;
    },
    zeros: {
      shapeOf: (groups) => [rows, groups],
      read: (numbers, groups) => (row, group) => numbers[row * groups + group]!,
    },
  });
}

type At = (row: number, column: number) => number;

interface Numbers {
  readonly shape: readonly [rows: number, columns: number];
  readonly numbers: (layer: StateLayer) => Promise<At>;
  readonly zeros: {
    readonly shapeOf: (groups: number) => readonly number[];
    readonly read: (stored: ArrayLike<number>, groups: number) => At;
  };
}

const noZero: At = () => 0;

/** (number - zero) · scale. */
function scaled(parts: Parts, { shape, numbers, zeros }: Numbers): PackedWeight {
  const [rows, columns] = shape;
  const [, groups = 1] = parts.get('weight_scale', 2).shape;
  parts.require('weight_scale', [rows, groups]);
  const hasZeros = parts.has('weight_zero_point');
  if (hasZeros) parts.require('weight_zero_point', zeros.shapeOf(groups));
  if (parts.has('weight_g_idx')) parts.require('weight_g_idx', [columns]);
  else requireEqualGroups(`${parts.prefix}weight_scale`, { columns, groups });
  return {
    shape,
    async fill(values, layer) {
      const numberAt = await numbers(layer);
      const scales = await parts.floats('weight_scale', layer);
      const zeroAt = hasZeros ? zeros.read(await parts.wholes('weight_zero_point', layer), groups) : noZero;
      const groupOf = await groupIndices(parts, 'weight_g_idx', { columns, groups }, layer);
      for (let row = 0; row < rows; row++) {
        for (let column = 0; column < columns; column++) {
          const group = groupOf[column]!;
          values[row * columns + column] =
            (numberAt(row, column) - zeroAt(row, group)) * scales[row * groups + group]!;
        }
      }
    },
  };
}
