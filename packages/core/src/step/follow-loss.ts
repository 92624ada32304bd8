import { Variable, type Tensor } from '@tensorflow/tfjs-core';
import type { TapeNode } from '@acc/tfjs-internals';

/**
 * The origin of a loss. `known`: a known tensor, perhaps with a penalty on weights. `mean`: a mean
 * over rows, as far as its operators show. `reason`: something else, for which losses of ranks
 * weighted by rows do not give the loss of one process.
 */
export type LossOrigin =
  { readonly known: Tensor; readonly hasPenalty?: boolean } | 'mean' | { readonly reason: string };

/** Kernels that do not change which rows a loss is a mean over. */
const SAME_NUMBER = ['Reshape', 'Identity', 'Cast', 'Neg', 'ExpandDims'];
const NOT_LINEAR = ['Sqrt', 'Rsqrt', 'Square', 'Pow', 'Log', 'Log1p', 'Exp', 'Reciprocal'];
const REDUCTIONS = ['Mean', 'Sum', 'Max', 'Min', 'Prod'];

/** Follows a loss back over the tape, from the scalar to its reduction. */
export class LossPath {
  constructor(
    private readonly tape: readonly TapeNode[],
    /** The number of rows of this rank's batch. Undefined if it is not known. */
    private readonly rows: number | undefined,
    private readonly isKnown: (x: Tensor) => boolean,
  ) {}

  originOf(x: Tensor): LossOrigin {
    if (this.isKnown(x)) return { known: x };
    const node = x.size === 1 ? this.#makerOf(x) : undefined;
    if (!node) return 'mean';
    const inputs = Object.values(node.inputs);
    const { kernelName } = node;
    const [first] = inputs;
    if (SAME_NUMBER.includes(kernelName)) return this.originOf(first!);
    if (REDUCTIONS.includes(kernelName)) {
      if (first!.size === 1) return this.originOf(first!);
      return kernelName === 'Mean' ? 'mean' : this.#reduced(kernelName, first!);
    }
    if (NOT_LINEAR.includes(kernelName)) return this.#unlessFixed(x, `${kernelName} is taken of a mean`);
    if (kernelName === 'RealDiv') return this.#quotient(inputs);
    if (kernelName === 'Multiply') return this.#product(inputs);
    if (['Add', 'AddN', 'Sub'].includes(kernelName)) return this.#total(inputs);
    if (kernelName === 'Select') return this.#chosen(inputs);
    return 'mean';
  }

  /** A tensor that no longer has the rows in dim 0 may be a mean over them. */
  #reduced(kernelName: string, x: Tensor): LossOrigin {
    return x.shape[0] === this.rows ? this.#unlessFixed(x, `${kernelName} is taken over all rows`) : 'mean';
  }

  #unlessFixed(x: Tensor, reason: string): LossOrigin {
    return this.#dependsOnData(x) ? { reason } : 'mean';
  }

  #quotient([total, count]: readonly Tensor[]): LossOrigin {
    if (this.#makerOf(count!) && this.#dependsOnData(count!))
      return { reason: 'it is divided by a number that is computed from the rows, as a masked mean is' };
    return this.#scaled(total!);
  }

  #product([a, b]: readonly Tensor[]): LossOrigin {
    if (!this.#dependsOnData(b!)) return this.#scaled(a!);
    return this.#dependsOnData(a!) ? { reason: 'it is a product of two means' } : this.#scaled(b!);
  }

  /**
   * Follows a tensor that is multiplied by a fixed number. A sum counts as a mean, because the
   * number is most likely one over the number of rows.
   */
  #scaled(x: Tensor): LossOrigin {
    return this.#makerOf(x)?.kernelName === 'Sum' ? 'mean' : this.originOf(x);
  }

  /**
   * Follows the terms of a sum. A term that does not depend on data, such as a penalty on weights,
   * is the same on every rank. It is correct with any weights of the ranks.
   */
  #total(terms: readonly Tensor[]): LossOrigin {
    const origins = terms.filter((term) => this.#dependsOnData(term)).map((term) => this.originOf(term));
    const [first = 'mean'] = origins;
    const areAlike = origins.every((origin) => origin === first || isSame(origin, first));
    if (!areAlike) return { reason: 'its terms are means over different items' };
    const hasPenalty = origins.length < terms.length;
    return typeof first === 'object' && 'known' in first && hasPenalty ? { ...first, hasPenalty } : first;
  }

  /** One of two values, by a condition: as `tf.metrics.precision` avoids a division by zero. */
  #chosen([, ...values]: readonly Tensor[]): LossOrigin {
    const origins = values.map((value) => this.originOf(value));
    return origins.find((origin) => typeof origin === 'object' && 'reason' in origin) ?? 'mean';
  }

  #dependsOnData(x: Tensor): boolean {
    const seen = new Set<number>();
    const open = [x];
    for (let next = open.pop(); next; next = open.pop()) {
      if (seen.has(next.id) || next instanceof Variable) continue;
      seen.add(next.id);
      const node = this.#makerOf(next);
      if (node) open.push(...Object.values(node.inputs));
      else if (next.size > 1) return true;
    }
    return false;
  }

  #makerOf(x: Tensor): TapeNode | undefined {
    return this.#makers.get(x.id);
  }

  get #makers(): ReadonlyMap<number, TapeNode> {
    return (this.#made ??= new Map(this.tape.flatMap((node) => node.outputs.map(({ id }) => [id, node]))));
  }

  #made: ReadonlyMap<number, TapeNode> | undefined;
}

function isSame(a: LossOrigin, b: LossOrigin): boolean {
  return (
    typeof a === 'object' && typeof b === 'object' && 'known' in a && 'known' in b && a.known === b.known
  );
}
