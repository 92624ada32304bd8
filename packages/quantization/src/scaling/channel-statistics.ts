import { operator, operatorInPlace, type Tensor } from '@acc/native';
import { abs, amax, reshape } from '../formats/operators.js';

const sum = operator('aten::sum.dim_IntList');
const maximum = operator('aten::maximum');
const addTo = operatorInPlace('aten::add_.Tensor');

/** The magnitudes of each column of the rows that a layer multiplies with. */
export class ChannelStatistics implements Disposable {
  #sums: Tensor | undefined;
  #largest: Tensor | undefined;
  #rows = 0;

  /** @param x Float32 `[…, columns]`. Borrowed. */
  add(x: Tensor): void {
    using rows = reshape(x, [-1, x.shape.at(-1)!]);
    using magnitudes = abs(rows);
    const sums = sum(magnitudes, [0], false, 'float64');
    const largest = amax(magnitudes, [0]);
    this.#rows += rows.shape[0]!;
    if (!this.#sums || !this.#largest) {
      [this.#sums, this.#largest] = [sums, largest];
      return;
    }
    using added = sums;
    addTo(this.#sums, added);
    using own = largest;
    using before = this.#largest;
    this.#largest = maximum(before, own);
  }

  /** The mean magnitude of each column. */
  means(): Float64Array {
    return (this.#sums!.read() as Float64Array).map((each) => each / this.#rows);
  }

  /** The largest magnitude of each column. */
  largest(): Float32Array {
    return this.#largest!.read() as Float32Array;
  }

  [Symbol.dispose](): void {
    this.#sums?.dispose();
    this.#largest?.dispose();
    this.#sums = this.#largest = undefined;
  }
}
