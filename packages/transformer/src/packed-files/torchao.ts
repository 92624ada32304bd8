import type { StoredWeight } from '@acc/checkpoint';
import type { StateLayer } from '@acc/contract';
import { invalidMetadata, invalidPacked, unsupportedPacked } from './errors.js';
import { numberIn, type PackedWeight, type Packing, type Parts } from './parts.js';
import { weightsOfTorchao, type TorchaoWeight } from './torchao-metadata.js';

/** The beginning of the names of parts, after the name of the module. */
const START = '_weight_';
const QDATA = `${START}qdata`;
const SCALE = `${START}scale`;
const ZERO = `${START}zero_point`;
/** Inputs are multiplied by it, by column. */
const FACTOR = `${START}act_pre_scale`;
/** How inputs are rounded, which is not done here. */
const OF_INPUTS = [`${START}act_quant_scale`, `${START}act_quant_zero_point`];
const PARTS = [QDATA, SCALE, ZERO, FACTOR, ...OF_INPUTS];

type Open = (parts: Parts, weight: TorchaoWeight) => PackedWeight;

/** By torchao's class of tensors. */
const TYPES: Readonly<Record<string, Open>> = {
  Int8Tensor: openBlocks,
  IntxUnpackedToInt8Tensor: openBlocks,
  Int4Tensor: openPairs,
};

/**
 * Weights of torchao (torchao.prototype.safetensors, 0.18): the metadata of the files say of which class each
 * is, and how large its blocks are. Blocks have a scale, and perhaps a zero.
 *
 * @throws AccError `ACC_MODEL_UNSUPPORTED`, `ACC_PACKED_WEIGHTS_INVALID` for metadata that do not fit.
 */
export function torchao(_config: unknown, stored: readonly StoredWeight[]): Packing {
  const weights = weightsOfTorchao(stored);
  if (weights.size === 0) {
    throw invalidMetadata("describe no packed weights, and the model is of torchao ('tensor_names')");
  }
  const present = new Set(stored.map(({ name }) => name));
  for (const [name, weight] of weights) requireReadable(name, weight, present);
  return {
    marker: QDATA,
    ends: PARTS,
    open(parts) {
      const name = `${parts.prefix}weight`;
      const weight = weights.get(name);
      if (!weight)
        throw invalidPacked(parts.prefix + QDATA, `is stored, but the metadata do not describe '${name}'`);
      return TYPES[weight.type]!(parts, weight);
    },
  };
}

function requireReadable(name: string, { type, parts }: TorchaoWeight, present: ReadonlySet<string>): void {
  const [, prefix] = /^(.*\.|)weight$/s.exec(name) ?? [];
  if (prefix === undefined) throw unsupportedPacked(name, `is a parameter that is packed as ${type}`);
  if (!Object.hasOwn(TYPES, type)) throw unsupportedPacked(name, `is packed as ${type}`);
  for (const part of parts) {
    if (!PARTS.includes(START + part)) throw unsupportedPacked(name, `has the part ${JSON.stringify(part)}`);
    if (!present.has(prefix + START + part)) throw invalidPacked(prefix + START + part, 'is missing');
  }
}

/** (number - zero) · scale. Each number has a byte, and blocks may have several rows. */
function openBlocks(parts: Parts, { block }: TorchaoWeight): PackedWeight {
  const shape = parts.get(QDATA, 2).shape as [number, number];
  const [rows, columns] = shape;
  const [high, wide] = requireBlocks(parts, shape, block);
  const blocks = [rows / high, columns / wide] as const;
  parts.require(SCALE, blocks);
  if (parts.has(ZERO)) parts.require(ZERO, blocks);
  return {
    shape,
    async fill(values, layer) {
      const numbers = await parts.wholes(QDATA, layer);
      const scales = await parts.floats(SCALE, layer);
      const zeros = parts.has(ZERO) ? await parts.numbers(ZERO, layer) : undefined;
      for (let i = 0; i < values.length; i++) {
        const [row, column] = [Math.floor(i / columns), i % columns];
        const at = Math.floor(row / high) * blocks[1] + Math.floor(column / wide);
        values[i] = (numbers[i]! - (zeros?.[at] ?? 0)) * scales[at]!;
      }
      await multiplyColumns(values, parts, shape, layer);
    },
  };
}

/** number · scale + zero. A byte has two numbers from -8 to 7, the first in its lower bits. */
function openPairs(parts: Parts, { block, shape: stated }: TorchaoWeight): PackedWeight {
  const [rows, bytes] = parts.get(QDATA, 2).shape as [number, number];
  const shape = [rows, 2 * bytes] as const;
  if (stated?.join() !== shape.join()) {
    throw invalidPacked(
      parts.prefix + QDATA,
      `has numbers for [${shape.join()}]; expected the shape [${String(stated)}]`,
    );
  }
  const [high, group] = requireBlocks(parts, shape, block);
  if (high !== 1) throw invalidPacked(parts.prefix + QDATA, `has blocks of ${high} rows; expected 1`);
  const groups = [shape[1] / group, rows] as const;
  parts.require(SCALE, groups);
  parts.require(ZERO, groups);
  return {
    shape,
    async fill(values, layer) {
      const pairs = await parts.wholes(QDATA, layer);
      const scales = await parts.floats(SCALE, layer);
      const zeros = await parts.floats(ZERO, layer);
      for (let i = 0; i < values.length; i++) {
        const [row, column] = [Math.floor(i / shape[1]), i % shape[1]];
        const at = Math.floor(column / group) * rows + row;
        const number = (numberIn(pairs[i >> 1]!, i & 1, 4) ^ 8) - 8;
        values[i] = number * scales[at]! + zeros[at]!;
      }
      await multiplyColumns(values, parts, shape, layer);
    },
  };
}

/** The rows and columns of a block. @throws AccError `ACC_PACKED_WEIGHTS_INVALID` unless they divide the shape. */
function requireBlocks(
  parts: Parts,
  shape: readonly [number, number],
  block: readonly unknown[],
): [number, number] {
  const divides = (size: unknown, i: number) =>
    Number.isSafeInteger(size) && (size as number) > 0 && shape[i]! % (size as number) === 0;
  if (block.length === 2 && block.every(divides)) return block as [number, number];
  const [name, blocks] = [parts.prefix + QDATA, JSON.stringify(block)];
  throw invalidPacked(name, `has the shape [${shape.join()}], which blocks of ${blocks} do not divide`);
}

/** Weights of columns whose inputs the tool multiplies. */
async function multiplyColumns(
  values: Float32Array,
  parts: Parts,
  [, columns]: readonly [number, number],
  layer: StateLayer,
): Promise<void> {
  if (!parts.has(FACTOR)) return;
  const factors = await parts.floats(FACTOR, layer);
  if (factors.length !== 1 && factors.length !== columns) {
    throw invalidPacked(parts.prefix + FACTOR, `has ${factors.length} elements; expected ${columns} or 1`);
  }
  for (let i = 0; i < values.length; i++) values[i]! *= factors[factors.length === 1 ? 0 : i % columns]!;
}
