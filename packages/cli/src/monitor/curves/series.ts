const FIRST_CAPACITY = 1024;

/** Points of a curve. `x` grows from point to point, and a `y` that is NaN or infinite is known to be so. */
export interface Points {
  readonly x: Float64Array;
  readonly y: Float64Array;
}

/** A curve that grows. */
export class Series implements Points {
  #x = new Float64Array(FIRST_CAPACITY);
  #y = new Float64Array(FIRST_CAPACITY);
  #length = 0;

  get x(): Float64Array {
    return this.#x.subarray(0, this.#length);
  }

  get y(): Float64Array {
    return this.#y.subarray(0, this.#length);
  }

  /** Adds a point. A resumed run repeats steps, and their points take the place of the earlier ones. */
  push(x: number, y: number): void {
    while (this.#length > 0 && this.#x[this.#length - 1]! >= x) this.#length--;
    if (this.#length === this.#x.length) {
      this.#x = twice(this.#x);
      this.#y = twice(this.#y);
    }
    this.#x[this.#length] = x;
    this.#y[this.#length] = y;
    this.#length++;
  }
}

function twice(values: Float64Array): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(2 * values.length);
  larger.set(values);
  return larger;
}
