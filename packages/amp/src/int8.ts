import { AccError, type KernelLayer, type PrecisionLayer } from '@acc/contract';
import { Int8Products } from './int8-products.js';
import { Int8Weights } from './int8-weights.js';

/** Products in 8 bits: which weights they have, on which device, and what the user is told of it. */
export class Int8 {
  readonly weights: Int8Weights;
  readonly products: Int8Products;
  /** The messages so far. */
  readonly #said = new Set<string>();
  #isMain = false;
  #layer: PrecisionLayer | undefined;

  constructor(exclude: readonly string[] | undefined, seed: number) {
    const weights = new Int8Weights(
      exclude,
      (weight) => this.#layer?.isPacked?.(weight) ?? false,
      (weight) => this.#layer?.isFakeQuantized?.(weight) ?? false,
    );
    this.weights = weights;
    this.products = new Int8Products(seed, {
      get chosen() {
        return weights.chosen;
      },
      require: (isTraining) => this.#requireWeights(isTraining),
    });
  }

  /** A pattern may match a weight that is prepared later, but before training. */
  #requireWeights(isTraining: boolean): void {
    if (isTraining) this.weights.requireMatches();
    const pattern = this.weights.unmatched;
    if (pattern !== undefined) {
      this.#say(`amp.exclude: '${pattern}' has matched no weight so far. A training step refuses it.`);
    }
    for (const note of this.weights.notes) this.#say(note);
  }

  /** @throws AccError `ACC_PRECISION_UNSUPPORTED` if the device has no products in 8 bits. */
  attach({ backendName, device, precision }: KernelLayer, isMain: boolean): void {
    this.#isMain = isMain;
    this.#layer = precision;
    const how = precision?.int8Products?.();
    if (how === undefined) {
      throw new AccError(
        'ACC_PRECISION_UNSUPPORTED',
        `mixedPrecision 'int8' trains on CPUs with engine 'acc'. This is the backend '${backendName}' on ${device}.`,
        { help: "Use mixedPrecision 'bf16', or device 'cpu'.", details: { backendName, device } },
      );
    }
    if (how === 'instructions') return;
    this.#say(
      "mixedPrecision 'int8': this CPU or this build lacks AVX-512 VNNI, so products of 8-bit integers are computed in float32. The numbers are the same, but it is slower than mixedPrecision 'no'. Use 'bf16' or 'no' here.",
    );
  }

  #say(message: string): void {
    if (!this.#isMain || this.#said.has(message)) return;
    this.#said.add(message);
    console.warn(`acc: ${message}`);
  }
}
