import type { StoredDtype } from '@acc/checkpoint/safetensors';
import { Refused } from '../errors.js';
import { eachWeight, type WeightLayout } from './layout.js';

/**
 * How updates travel. `bf16` rounds each element to bfloat16, `int8` to one of 255 multiples of a
 * step that each weight has for itself. Weights always travel as float32.
 */
export type Compression = 'none' | 'bf16' | 'int8';

export const COMPRESSIONS = ['none', 'bf16', 'int8'] as const satisfies readonly Compression[];

export const UPDATE_DTYPE: Readonly<Record<Compression, StoredDtype>> = {
  none: 'F32',
  bf16: 'BF16',
  int8: 'I8',
};

/** An update as it travels. */
export interface EncodedUpdate {
  readonly body: Uint8Array;
  /** For `int8`: the step of each weight. Otherwise empty. */
  readonly steps: readonly number[];
}

export function encodeUpdate(
  update: Float32Array,
  layout: WeightLayout,
  compression: Compression,
): EncodedUpdate {
  if (compression === 'none') return { body: bytesOf(update), steps: [] };
  return compression === 'bf16' ? { body: bytesOf(toBfloat16(update)), steps: [] } : toInt8(update, layout);
}

/**
 * The update of a message.
 *
 * @param body Its bytes, whose number was compared with the layout.
 * @throws Refused `ACC_FEDERATED_SHAPE`, `ACC_FEDERATED_NOT_FINITE`.
 */
export function decodeUpdate(
  { body, steps }: EncodedUpdate,
  layout: WeightLayout,
  compression: Compression,
): Float32Array {
  // A copy begins at the start of its memory; the message need not be aligned.
  const owned = new Uint8Array(body);
  if (compression === 'none') return new Float32Array(owned.buffer);
  if (compression === 'bf16') return fromBfloat16(new Uint16Array(owned.buffer));
  return fromInt8(new Int8Array(owned.buffer), steps, layout);
}

export function bytesOf(values: Float32Array | Uint16Array | Int8Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}

/** Rounds to the nearest bfloat16, ties to even. NaN stays NaN. */
function toBfloat16(values: Float32Array): Uint16Array {
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
  return Uint16Array.from(bits, (word) => {
    if ((word & 0x7fffffff) > 0x7f800000) return (word >>> 16) | 0x40;
    return (word + 0x7fff + ((word >>> 16) & 1)) >>> 16;
  });
}

function fromBfloat16(halves: Uint16Array): Float32Array {
  return new Float32Array(Uint32Array.from(halves, (half) => half << 16).buffer);
}

/** The largest magnitude of an int8 that has its negative. */
const LEVELS = 127;

function toInt8(update: Float32Array, layout: WeightLayout): EncodedUpdate {
  const levels = new Int8Array(update.length);
  const steps: number[] = [];
  eachWeight(layout, (_, start, size) => {
    let largest = 0;
    // Math.max keeps a NaN, so that it reaches the coordinator, which refuses it.
    for (let i = start; i < start + size; i++) largest = Math.max(largest, Math.abs(update[i]!));
    const step = largest / LEVELS;
    steps.push(step);
    for (let i = start; i < start + size; i++) levels[i] = step > 0 ? Math.round(update[i]! / step) : 0;
  });
  return { body: bytesOf(levels), steps };
}

function fromInt8(levels: Int8Array, steps: readonly number[], layout: WeightLayout): Float32Array {
  if (steps.length !== layout.sizes.length) {
    throw new Refused(
      'ACC_FEDERATED_SHAPE',
      `the update has ${steps.length} quantization steps for ${layout.sizes.length} weights`,
    );
  }
  const update = new Float32Array(levels.length);
  eachWeight(layout, (index, start, size) => {
    const step = steps[index]!;
    for (let i = start; i < start + size; i++) update[i] = levels[i]! * step;
  });
  return update;
}
