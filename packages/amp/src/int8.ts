import { AccError, type KernelLayer } from '@acc/contract';
import { Int8Products } from './int8-products.js';
import { Int8Weights } from './int8-weights.js';

/** Products in 8 bits: which weights they have, on which device, and what the user is told of it. */
export class Int8 {
  readonly weights: Int8Weights;
  readonly products: Int8Products;
  /** The messages so far. */
  readonly #said = new Set<string>();
  #isMain = false;

  constructor(exclude: readonly string[] | undefined, seed: number) {
    this.weights = new Int8Weights(exclude);
    this.products = new Int8Products(seed, () => {
      for (const note of this.weights.notes) this.#say(note);
      return this.weights.chosen;
    });
  }

  /** @throws AccError `ACC_PRECISION_UNSUPPORTED` if the device has no products in 8 bits. */
  attach({ backendName, device, precision }: KernelLayer, isMain: boolean): void {
    this.#isMain = isMain;
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
      "mixedPrecision 'int8': this CPU lacks AVX-512 VNNI, so products of 8-bit integers are computed in float32. The numbers are the same, but it is slower than mixedPrecision 'no'. Use 'bf16' or 'no' here.",
    );
  }

  #say(message: string): void {
    if (!this.#isMain || this.#said.has(message)) return;
    this.#said.add(message);
    console.warn(`acc: ${message}`);
  }
}
