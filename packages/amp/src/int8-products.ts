import {
  _FusedMatMul,
  BatchMatMul,
  type NamedTensorMap,
  type Tensor,
  type TensorInfo,
  type Variable,
} from '@tensorflow/tfjs-core';

export type Phase = 'forward' | 'backward';

/** A product that rounds its factors to 8-bit integers. */
export interface Int8Call {
  /** The factors that layers compute: activations and gradients. */
  readonly computed: NamedTensorMap;
  /** The other inputs. */
  readonly weights: NamedTensorMap;
  readonly attrs: object;
  /** To be called with the factors that the product takes in place of {@link computed}. */
  note?(taken: NamedTensorMap): void;
}

interface ProductAttrs {
  readonly transposeA?: boolean;
  readonly transposeB?: boolean;
}

/**
 * Finds the products of weights that compute in 8 bits: forward, with the weight as second factor, and the
 * two products that give their gradients. Tensors are told apart by their data, which tfjs's clones and
 * reshapes share.
 */
export class Int8Products {
  #weights: readonly Variable[] = [];
  /** The data of {@link #weights}. */
  readonly #data = new WeakSet<object>();
  /** The data of first factors, with the shapes of the weights that they were multiplied by. */
  readonly #factors = new WeakMap<object, Set<string>>();

  constructor(
    private readonly seed: number,
    /** The weights to be multiplied in 8 bits, asked for when a forward pass begins. */
    private readonly weights: () => readonly Variable[],
  ) {}

  /** A forward pass begins. Updates give weights other data. */
  begin(): void {
    this.#weights = this.weights();
    for (const weight of this.#weights) if (!weight.isDisposed) this.#data.add(weight.dataId);
  }

  /** The call of a kernel as an 8-bit product. Undefined if it is not one. */
  callOf(phase: Phase, kernelName: string, inputs: NamedTensorMap, attrs: object = {}): Int8Call | undefined {
    if (this.#weights.length === 0 || (kernelName !== BatchMatMul && kernelName !== _FusedMatMul))
      return undefined;
    const { a, b, ...others } = inputs as { a: Tensor; b: Tensor } & NamedTensorMap;
    if (!isMatrix(a) || !isMatrix(b)) return undefined;
    const { transposeA = false, transposeB = false } = attrs as ProductAttrs;
    const int8 = (product: string) => ({ ...attrs, int8: product, int8Seed: this.seed });
    if (this.#data.has(b.dataId) && !transposeA) {
      const weights = { b, ...others };
      if (phase === 'backward') return { computed: { a }, weights, attrs: int8('inputGradient') };
      const note = (taken: NamedTensorMap) => [a, taken['a']!].forEach((x) => this.#noteFactor(x, b));
      return { computed: { a }, weights, attrs: int8('forward'), note };
    }
    if (phase === 'forward') return undefined;
    const shape = `${a.shape.at(transposeA ? -1 : -2)}×${b.shape.at(transposeB ? -2 : -1)}`;
    const gradient = this.#factors.get(a.dataId)?.has(shape)
      ? 'weightGradientB'
      : this.#factors.get(b.dataId)?.has(shape)
        ? 'weightGradientA'
        : undefined;
    return gradient && { computed: { a, b }, weights: others, attrs: int8(gradient) };
  }

  #noteFactor({ dataId }: TensorInfo, weight: Tensor): void {
    let shapes = this.#factors.get(dataId);
    if (!shapes) this.#factors.set(dataId, (shapes = new Set()));
    shapes.add(`${weight.shape.at(-2)}×${weight.shape.at(-1)}`);
  }
}

/** Whether `x` is one matrix of floats, after any number of dims of length 1. */
const isMatrix = (x: Tensor | undefined): boolean =>
  x?.dtype === 'float32' && x.rank >= 2 && x.shape.slice(0, -2).every((size) => size === 1);
