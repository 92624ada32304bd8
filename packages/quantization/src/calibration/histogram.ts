import { operator, type Tensor } from '@acc/native';

const histc = operator('aten::histc');

/** As PyTorch's `HistogramObserver` has it. */
const BINS = 2048;
/** The parts into which a bin is divided before it goes into other bins. */
const PARTS = 16;

export type Limits = readonly [least: number, largest: number];

/** The counts of values in bins of equal width, from the least value to the largest. */
export class Histogram {
  #counts = new Float64Array(BINS);
  #least = Infinity;
  #largest = -Infinity;

  get counts(): Readonly<Float64Array> {
    return this.#counts;
  }

  get least(): number {
    return this.#least;
  }

  get largest(): number {
    return this.#largest;
  }

  get width(): number {
    return (this.#largest - this.#least) / BINS;
  }

  /** @param x Float32, with these least and largest values. Borrowed. */
  add(x: Tensor, [ownLeast, ownLargest]: Limits): void {
    const [least, largest] = [Math.min(this.#least, ownLeast), Math.max(this.#largest, ownLargest)];
    const isWider = least < this.#least || largest > this.#largest;
    if (isWider && this.#largest >= this.#least) this.#spread(least, largest);
    [this.#least, this.#largest] = [least, largest];
    using counts = histc(x, BINS, least, largest);
    for (const [i, count] of (counts.read() as Float32Array).entries()) this.#counts[i]! += count;
  }

  /** Puts what is counted into the bins of a wider range: each part of a bin by its middle. */
  #spread(least: number, largest: number): void {
    const [counts, from, step] = [this.#counts, this.#least, this.width / PARTS];
    const width = (largest - least) / BINS;
    this.#counts = new Float64Array(BINS);
    for (let part = 0; part < BINS * PARTS; part++) {
      const middle = from + (part + 0.5) * step;
      const bin = Math.min(BINS - 1, Math.max(0, Math.floor((middle - least) / width)));
      this.#counts[bin]! += counts[Math.floor(part / PARTS)]! / PARTS;
    }
  }
}
