import {
  _FusedMatMul,
  BatchMatMul,
  type NamedTensorMap,
  type Tensor,
  type Variable,
} from '@tensorflow/tfjs-core';
import { aroundGradient, patch, type EngineInternals, type TapeNode, type Undo } from '@acc/tfjs-internals';

export type Phase = 'forward' | 'backward';

/** A product that rounds its factors to 8-bit integers. */
export interface Int8Call {
  /** The factors that layers compute: activations and gradients. */
  readonly computed: NamedTensorMap;
  /** The other inputs, which are not converted. */
  readonly others: NamedTensorMap;
  readonly attrs: object;
  /** Whether it is a result, rather than a gradient. */
  readonly isForward: boolean;
}

interface ProductAttrs {
  readonly transposeA?: boolean;
  readonly transposeB?: boolean;
  readonly without8Bits?: boolean;
}

/** A product in 8 bits whose gradients compute in 8 bits, too. */
interface Product {
  /** The data of the first factor, before and after its conversion to 16 bits. */
  readonly factors: readonly object[];
  /** The data of the second factor. */
  readonly weight: object;
  /** The shape of the weight. */
  readonly shape: string;
  readonly transposeB: boolean;
}

/**
 * Finds the products of weights that compute in 8 bits: forward, with the weight as second factor, and the
 * two products that give their gradients. Those are looked for only in the gradient of the operator whose
 * product computed in 8 bits. Tensors are told apart by their data, which tfjs's clones and reshapes share.
 */
export class Int8Products {
  #weights: readonly Variable[] = [];
  /** The data of {@link #weights}. */
  readonly #data = new WeakSet<object>();
  /** The 8-bit products in the operator that is running. Undefined outside of operators that are watched. */
  #running: Product[] | undefined;
  /** The 8-bit products of the operator whose gradient is being computed. */
  #inGradient: readonly Product[] = [];

  constructor(
    private readonly seed: number,
    /** The weights to be multiplied in 8 bits, asked for when a forward pass begins. */
    private readonly weights: {
      readonly chosen: readonly Variable[];
      require(isTraining: boolean): void;
    },
  ) {}

  /** A forward pass is about to begin. Throws if it cannot. */
  requireWeights(isTraining: boolean): void {
    this.weights.require(isTraining);
  }

  /** A forward pass begins. Updates give weights other data. */
  begin(): void {
    this.#weights = this.weights.chosen;
    for (const weight of this.#weights) this.#data.add(weight.dataId);
  }

  /** The call of a kernel as an 8-bit product. Undefined if it is not one. */
  callOf(phase: Phase, kernelName: string, inputs: NamedTensorMap, attrs: object = {}): Int8Call | undefined {
    if (this.#weights.length === 0 || !isProduct(kernelName)) return undefined;
    const { a, b, ...others } = inputs as { a: Tensor; b: Tensor } & NamedTensorMap;
    const { transposeA = false, without8Bits = false } = attrs as ProductAttrs;
    if (!isMatrix(a) || !isMatrix(b) || without8Bits) return undefined;
    const int8 = (product: string) => ({ ...attrs, int8: product, int8Seed: this.seed });
    const isOfWeight = !transposeA && this.#data.has(b.dataId) && phase === 'forward';
    const product = this.#gradientOf(a, b, attrs) ?? (isOfWeight ? 'forward' : undefined);
    if (!product) return undefined;
    return product === 'forward' || product === 'inputGradient'
      ? { computed: { a }, others: { b, ...others }, attrs: int8(product), isForward: product === 'forward' }
      : { computed: { a, b }, others, attrs: int8(product), isForward: false };
  }

  /** The product in the gradient of an operator with 8-bit products. Undefined: none of them. */
  #gradientOf(a: Tensor, b: Tensor, attrs: ProductAttrs): string | undefined {
    const { transposeA = false, transposeB = false } = attrs;
    const known = transposeA ? undefined : this.#inGradient.find(({ weight }) => weight === b.dataId);
    // An operator may compute its result again.
    if (known) return known.transposeB === transposeB ? 'forward' : 'inputGradient';
    const shape = `${a.shape.at(transposeA ? -1 : -2)}×${b.shape.at(transposeB ? -2 : -1)}`;
    if (this.#isFactor(a, shape)) return 'weightGradientB';
    return this.#isFactor(b, shape) ? 'weightGradientA' : undefined;
  }

  /** Computes an 8-bit product, which takes `inputs` in place of those of the call. */
  run<T>({ computed, attrs, isForward }: Int8Call, inputs: NamedTensorMap, compute: () => T): T {
    if (!isForward) return compute();
    const { a, b } = inputs as { a: Tensor; b: Tensor };
    const product = {
      factors: [computed['a']!.dataId, a.dataId],
      weight: b.dataId,
      shape: `${b.shape.at(-2)}×${b.shape.at(-1)}`,
      transposeB: (attrs as ProductAttrs).transposeB ?? false,
    };
    return this.#asOperator([product], compute);
  }

  /** Notes which operators on the tape have 8-bit products, until the returned functions are called. */
  watchOperators(engine: EngineInternals): Undo[] {
    return [
      patch(engine, 'runKernelFunc', 'autocast', (own) => (params) => {
        const run = () => own.call(engine, params);
        return 'forwardFunc' in params ? this.#asOperator([], run) : run();
      }),
      patch(engine, 'addTapeNode', 'autocast', (own) => (...args) => {
        own.apply(engine, args);
        const node = engine.state.activeTape?.at(-1);
        if (node && (this.#running || isProduct(node.kernelName))) this.#mark(node, this.#running ?? []);
      }),
    ];
  }

  #isFactor({ dataId }: Tensor, shapeOfWeight: string): boolean {
    return this.#inGradient.some(({ factors, shape }) => shape === shapeOfWeight && factors.includes(dataId));
  }

  /** `products` is completed by the operators within. */
  #asOperator<T>(products: Product[], run: () => T): T {
    const outer = this.#running;
    this.#running = products;
    try {
      return run();
    } finally {
      this.#running = outer;
      outer?.push(...products);
    }
  }

  #mark(node: TapeNode, products: readonly Product[]): void {
    aroundGradient(node, (compute) => {
      const outer = this.#inGradient;
      this.#inGradient = products;
      try {
        return compute();
      } finally {
        this.#inGradient = outer;
      }
    });
  }
}

const isProduct = (kernelName: string): boolean => kernelName === BatchMatMul || kernelName === _FusedMatMul;

/** Whether `x` is one matrix of floats, after any number of dims of length 1. */
const isMatrix = (x: Tensor | undefined): boolean =>
  x?.dtype === 'float32' && x.rank >= 2 && x.shape.slice(0, -2).every((size) => size === 1);
