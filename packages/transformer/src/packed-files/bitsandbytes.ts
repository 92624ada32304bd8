import { isRecord, parseJson, type StateLayer } from '@acc/contract';
import { invalidPacked, unsupportedQuantization } from './errors.js';
import type { PackedWeight, Packing, Parts } from './parts.js';

const STATE = 'weight.quant_state.bitsandbytes__nf4';

/** NF4 as bitsandbytes stores it. Its magnitudes may be quantized a second time. */
export function bitsandbytes(config: Readonly<Record<string, unknown>>): Packing {
  if (config['load_in_4bit'] !== true || config['bnb_4bit_quant_type'] !== 'nf4') {
    throw unsupportedQuantization('is of bitsandbytes, but not of the type nf4');
  }
  const { bnb_4bit_quant_storage: storage = 'uint8' } = config;
  if (storage !== 'uint8') {
    throw unsupportedQuantization(
      `has the bnb_4bit_quant_storage ${JSON.stringify(storage)}; expected "uint8"`,
    );
  }
  return {
    marker: STATE,
    ends: [
      STATE,
      ...['weight', 'weight.absmax', 'weight.quant_map', 'weight.nested_absmax', 'weight.nested_quant_map'],
    ],
    open,
  };
}

interface State {
  readonly shape: readonly [number, number];
  readonly blocksize: number;
  /** Undefined: magnitudes are float32. */
  readonly nested: { readonly blocksize: number; readonly offset: number } | undefined;
}

async function open(parts: Parts, layer: StateLayer): Promise<PackedWeight> {
  const { shape, blocksize, nested } = stateOf(parts, await parts.wholes(STATE, layer));
  const size = shape[0] * shape[1];
  const blocks = Math.ceil(size / blocksize);
  parts.require('weight', [Math.ceil(size / 2), 1]);
  parts.require('weight.quant_map', [16]);
  parts.require('weight.absmax', [blocks]);
  if (nested) {
    parts.require('weight.nested_quant_map', [256]);
    parts.require('weight.nested_absmax', [Math.ceil(blocks / nested.blocksize)]);
  }
  return {
    shape,
    async fill(values, with_) {
      const code = await parts.floats('weight.quant_map', with_);
      const largest = await largestOf(parts, nested, with_);
      const bytes = await parts.wholes('weight', with_);
      for (let i = 0; i < size; i++) {
        const byte = bytes[i >> 1]!;
        values[i] = code[i % 2 === 0 ? byte >> 4 : byte & 15]! * largest[Math.floor(i / blocksize)]!;
      }
    },
  };
}

/** The largest magnitude of each block, computed in float32 as bitsandbytes does. */
async function largestOf(parts: Parts, nested: State['nested'], layer: StateLayer): Promise<Float32Array> {
  if (!nested) return await parts.floats('weight.absmax', layer);
  const numbers = await parts.wholes('weight.absmax', layer);
  const code = await parts.floats('weight.nested_quant_map', layer);
  const scales = await parts.floats('weight.nested_absmax', layer);
  const { blocksize, offset } = nested;
  return Float32Array.from(
    numbers,
    (number, i) => Math.fround(code[number]! * scales[Math.floor(i / blocksize)]!) + Math.fround(offset),
  );
}

function stateOf(parts: Parts, bytes: ArrayLike<number>): State {
  const fail = (problem: string) => invalidPacked(parts.prefix + STATE, problem);
  const json = jsonOf(bytes);
  if (!isRecord(json)) throw fail('is not a JSON object');
  const { shape, blocksize, quant_type: type, nested_blocksize, nested_offset } = json;
  if (type !== 'nf4') throw fail(`has the quant_type ${JSON.stringify(type)}; expected "nf4"`);
  const isMatrix = Array.isArray(shape) && shape.length === 2 && shape.every(isCount);
  if (!isMatrix || !isCount(blocksize)) {
    throw fail(`has the shape ${JSON.stringify(shape)} and the blocksize ${JSON.stringify(blocksize)}`);
  }
  const isNested = nested_blocksize !== undefined || parts.has('weight.nested_absmax');
  if (isNested && !(isCount(nested_blocksize) && typeof nested_offset === 'number')) {
    throw fail('lacks the nested_blocksize or the nested_offset of nested magnitudes');
  }
  return {
    shape: shape as unknown as readonly [number, number],
    blocksize,
    nested: isNested ? { blocksize: nested_blocksize as number, offset: nested_offset as number } : undefined,
  };
}

function jsonOf(bytes: ArrayLike<number>): unknown {
  try {
    return parseJson(new TextDecoder().decode(Uint8Array.from(bytes)));
  } catch {
    return undefined;
  }
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0;
