import { broadcastTo, tensor } from '@tensorflow/tfjs-core';
import type { Update } from '../slots.js';
import type { Packing } from './packing.js';
import type { PackedRule } from './rules.js';

const { fround } = Math;

/**
 * Updates a variable with packed moments in JavaScript, for backends without the operators. The results
 * have the bits of cpp/engine/kernels/packed_state.cpp. Called in a tidy.
 *
 * @param packings Those of the state.
 */
export function plainStep(update: Update, packings: readonly Packing[], { element }: PackedRule): void {
  const { variable, grad, state } = update;
  const [weights, grads] = [variable, broadcastTo(grad, variable.shape)].map((x) =>
    Float32Array.from(x.dataSync()),
  ) as [Float32Array, Float32Array];
  const moments = state.map((x, k) => new PackedMoment(Int32Array.from(x.dataSync()), packings[k]!));
  const { block } = packings[0]!;
  for (let begin = 0; begin < weights.length; begin += block) {
    const count = Math.min(block, weights.length - begin);
    const blocks = moments.map((moment) => moment.unpack(begin / block, count));
    for (let i = 0; i < count; i++) {
      const values = blocks.map((each) => each[i]!);
      weights[begin + i] = element(weights[begin + i]!, grads[begin + i]!, values);
      values.forEach((value, k) => (blocks[k]![i] = value));
    }
    moments.forEach((moment, k) => moment.pack(begin / block, blocks[k]!));
  }
  variable.assign(tensor(weights, variable.shape));
  state.forEach((x, k) => x.assign(tensor(moments[k]!.words, x.shape, 'int32')));
}

/** A moment of a variable, block by block. */
class PackedMoment {
  readonly #bytes: Uint8Array;
  readonly #scales: Float32Array;
  /** Where the next code begins. */
  readonly #limits: Float32Array;

  constructor(
    readonly words: Int32Array,
    private readonly packing: Packing,
  ) {
    this.#bytes = new Uint8Array(words.buffer);
    this.#scales = new Float32Array(words.buffer);
    const { values } = packing;
    this.#limits = values.subarray(1).map((value, code) => (value + values[code]!) / 2);
  }

  unpack(block: number, count: number): Float32Array {
    const { bits, words, values } = this.packing;
    const scale = this.#scales[(block + 1) * words - 1]!;
    const at = block * words * 4;
    return Float32Array.from({ length: count }, (_, i) => {
      const byte = this.#bytes[at + (bits === 8 ? i : i >> 1)]!;
      return fround(values[bits === 8 ? byte : i % 2 ? byte & 15 : byte >> 4]! * scale);
    });
  }

  pack(block: number, elements: Float32Array): void {
    const { bits, words } = this.packing;
    const scale = elements.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
    this.#scales[(block + 1) * words - 1] = scale;
    const codes = elements.map((x) => this.#codeOf(fround(x / (scale || 1))));
    const at = block * words * 4;
    const bytes =
      bits === 8
        ? codes
        : codes.filter((_, i) => i % 2 === 0).map((_, i) => codes[2 * i]! * 16 + (codes[2 * i + 1] ?? 0));
    this.#bytes.set(bytes, at);
  }

  /** The code of the nearest value, and of the higher one of two that are as near; of NaN the last. */
  #codeOf(x: number): number {
    if (Number.isNaN(x)) return this.#limits.length;
    let [least, most] = [0, this.#limits.length];
    while (least < most) {
      const middle = (least + most) >> 1;
      if (x >= this.#limits[middle]!) least = middle + 1;
      else most = middle;
    }
    return least;
  }
}
