import { operator, operatorInPlace, type Tensor } from '@acc/native';
import { cast, mm, mulScalar, reshape, transpose } from '../formats/operators.js';

const contiguous = operator('aten::contiguous');
const addTo = operatorInPlace('aten::add_.Tensor');
const sum = operator('aten::sum');
const mulBy = operator('aten::mul.Tensor');

/**
 * The second derivatives of the squared errors of a product's results by the values of one output channel:
 * 2/n · Σ xᵀx over the n rows of its inputs (Frantar et al. 2022, "GPTQ", equation 1).
 */
export class Hessian implements Disposable {
  #sum: Tensor | undefined;
  #rows = 0;

  /** @param x Float32 `[…, columns]`. Borrowed. */
  add(x: Tensor): void {
    using flat = reshape(x, [-1, x.shape.at(-1)!]);
    using rows = contiguous(flat);
    using turned = transpose(rows);
    using product = mm(turned, rows);
    const wide = cast(product, 'float64');
    this.#rows += rows.shape[0]!;
    if (!this.#sum) {
      this.#sum = wide;
      return;
    }
    using added = wide;
    addTo(this.#sum, added);
  }

  /** Float64 `[columns, columns]`. The caller disposes it. */
  matrix(): Tensor {
    return mulScalar(this.#sum!, 2 / this.#rows);
  }

  [Symbol.dispose](): void {
    this.#sum?.dispose();
    this.#sum = undefined;
  }
}

/** The power of `weights · x` over the inputs of a Hessian: Σ w·H·wᵀ. @param weights `[rows, columns]`. */
export function outputPower(weights: Tensor, hessian: Tensor): number {
  using wide = cast(weights, 'float64');
  using product = mm(wide, hessian);
  using each = mulBy(product, wide);
  using total = sum(each);
  return (total.read() as Float64Array)[0]!;
}
