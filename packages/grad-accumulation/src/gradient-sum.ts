import { clone, keep, type Tensor } from '@tensorflow/tfjs-core';
import type { GradientReduction, ListMath } from '@acc/contract';
import {
  sumOfCounts,
  type AccumulatedGradients,
  type AccumulatedPasses,
  type ItemCounts,
} from './accumulation.js';

/**
 * The weighted sum of gradients of the same variables. Each gradient is a sum over items, divided by
 * a number of items, by which it is weighted. The unit is the number of items of the first gradient. Therefore the
 * first gradients are stored unchanged, and sums stay in the range of gradients.
 */
export class GradientSum implements AccumulatedGradients {
  readonly #lists: ListMath;
  #counts: ItemCounts = { own: 0, all: 0, samples: 0 };
  #unit = 0;
  /** By position in the list of variables. Empty if there was no gradient. */
  #sums: (Tensor | undefined)[] = [];

  constructor(lists: ListMath) {
    this.#lists = lists;
  }

  /**
   * Adds another sum of the same variables, over other items of the same passes, such as that of
   * another rank. The caller still owns `sums`.
   */
  absorb({ counts, unit, sums }: Omit<AccumulatedPasses, 'variables' | 'place'>): void {
    this.#counts = { ...counts, own: this.#counts.own + counts.own };
    if (this.#unit === 0) this.#unit = unit;
    const weight = this.#unit === 0 ? 1 : unit / this.#unit;
    sums.forEach((given, place) => {
      if (!given) return;
      const own = this.#sums[place];
      this.#sums[place] = keep(
        own ? this.#lists.add([own], [given], weight)[0]! : this.#first(given, weight),
      );
    });
  }

  /** The argument for {@link absorb}, for `length` variables. This object still owns the tensors. */
  read(length: number): Omit<AccumulatedPasses, 'variables' | 'place'> {
    const sums = Array.from({ length }, (_, place) => this.#sums[place] ?? null);
    return { counts: this.#counts, unit: this.#unit, sums };
  }

  get counts(): ItemCounts {
    return this.#counts;
  }

  /**
   * Adds the gradients of one pass. The caller still owns them.
   *
   * @param unit See `GradientAccumulation.hold`.
   */
  add(grads: readonly (Tensor | null)[], counts: ItemCounts, unit = counts.own): void {
    this.#counts = sumOfCounts(this.#counts, counts);
    if (unit === 0) return;
    if (this.#unit === 0) this.#unit = unit;
    const weight = unit / this.#unit;
    const places = grads.flatMap((grad, place) => (grad && this.#sums[place] ? [place] : []));
    const sums = this.#lists.add(
      places.map((place) => this.#sums[place]!),
      places.map((place) => grads[place]!),
      weight,
    );
    places.forEach((place, k) => (this.#sums[place] = keep(sums[k]!)));
    grads.forEach((grad, place) => {
      if (grad && !this.#sums[place]) this.#sums[place] = keep(this.#first(grad, weight));
    });
  }

  joinedTo(reduction: GradientReduction, factor: number): GradientReduction {
    const scale = factor * this.#unit;
    const lists = this.#lists;
    return {
      ready: (place, grad) => {
        const held = this.#takeOut(place);
        reduction.ready(place, held ? lists.add([grad], [held], scale)[0]! : grad);
        held?.dispose();
      },
      finish: () => {
        this.#sums.forEach((held, place) => {
          if (held) reduction.ready(place, lists.scale([held], scale)[0]!);
        });
        this.#sums = [];
        return reduction.finish();
      },
    };
  }

  dispose(): void {
    for (const held of this.#sums) held?.dispose();
    this.#sums = [];
  }

  #first(grad: Tensor, weight: number): Tensor {
    const own = clone(grad);
    return weight === 1 ? own : this.#lists.scale([own], weight)[0]!;
  }

  #takeOut(place: number): Tensor | undefined {
    const held = this.#sums[place];
    this.#sums[place] = undefined;
    return held;
  }
}
