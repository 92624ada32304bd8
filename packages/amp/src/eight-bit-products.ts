import {
  _FusedMatMul,
  BatchMatMul,
  type NamedTensorMap,
  type Tensor,
  type Variable,
} from '@tensorflow/tfjs-core';
import { FACTOR_ROLES, ROLES_OF, type EightBitProduct, type EightBitRounding } from '@acc/contract';
import {
  aroundGradient,
  engineInternals,
  patch,
  type EngineInternals,
  type TapeNode,
  type Undo,
} from '@acc/tfjs-internals';
import type { AmaxHistories } from './amax-histories.js';

export type Phase = 'forward' | 'backward';

/** A product that rounds its factors to 8 bits. */
export interface EightBitCall {
  /** The factors that layers compute: activations and gradients. */
  readonly computed: NamedTensorMap;
  /** The other inputs, which are not converted. */
  readonly others: NamedTensorMap;
  readonly attrs: object;
  /** The history that notes the magnitudes of its factors. Undefined: none. */
  readonly noted?: Variable | undefined;
  readonly kind: EightBitProduct;
  /** Whether it is a result, rather than a gradient. */
  readonly isForward: boolean;
}

interface ProductAttrs {
  readonly transposeA?: boolean;
  readonly transposeB?: boolean;
  readonly without8Bits?: boolean;
}

/** A product, and the data of its weight. */
type Found = readonly [product: EightBitProduct, weight: object];

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
export class EightBitProducts {
  #weights: readonly Variable[] = [];
  /** The data of {@link #weights}. */
  readonly #data = new WeakSet<object>();
  /** The 8-bit products in the operator that is running. Undefined outside of operators that are watched. */
  #running: Product[] | undefined;
  /** The 8-bit products of the operator whose gradient is being computed. */
  #inGradient: readonly Product[] = [];

  constructor(
    private readonly rounding: EightBitRounding,
    /** The weights to be multiplied in 8 bits, asked for when a forward pass begins. */
    private readonly weights: {
      readonly chosen: readonly Variable[];
      require(isTraining: boolean): void;
    },
    /** Undefined: scales come from the factors themselves. */
    private readonly histories?: AmaxHistories,
  ) {}

  /** A forward pass is about to begin. Throws if it cannot. */
  requireWeights(isTraining: boolean): void {
    this.weights.require(isTraining);
  }

  /** A forward pass begins. Updates give weights other data. */
  begin(): void {
    this.#weights = this.weights.chosen;
    for (const weight of this.#weights) this.#data.add(weight.dataId);
    this.histories?.begin();
  }

  /** The call of a kernel as an 8-bit product. Undefined if it is not one. */
  callOf(
    phase: Phase,
    kernelName: string,
    inputs: NamedTensorMap,
    attrs: object = {},
  ): EightBitCall | undefined {
    if (this.#weights.length === 0 || !isProduct(kernelName)) return undefined;
    const { a, b, ...others } = inputs as { a: Tensor; b: Tensor } & NamedTensorMap;
    const { transposeA = false, without8Bits = false } = attrs as ProductAttrs;
    if (!isMatrix(a) || !isMatrix(b) || without8Bits) return undefined;
    const isOfWeight = !transposeA && this.#data.has(b.dataId) && phase === 'forward';
    const found: Found | undefined =
      this.#gradientOf(a, b, attrs) ?? (isOfWeight ? ['forward', b.dataId] : undefined);
    if (!found) return undefined;
    const [kind, weight] = found;
    const history = this.histories?.of(weight);
    const more = history ? { ...others, amaxes: history } : others;
    const isForward = kind === 'forward';
    const [computed, unchanged]: [NamedTensorMap, NamedTensorMap] =
      isForward || kind === 'inputGradient' ? [{ a }, { b, ...more }] : [{ a, b }, more];
    // Also within an operator, where the tape is off.
    const isTraining = phase === 'backward' || engineInternals().state.gradientDepth > 0;
    const noted = isTraining ? history : undefined;
    const rounded = { ...attrs, eightBits: { ...this.rounding, product: kind } };
    return { computed, others: unchanged, attrs: rounded, isForward, kind, noted };
  }

  /** The product in the gradient of an operator with 8-bit products. Undefined: none of them. */
  #gradientOf(a: Tensor, b: Tensor, attrs: ProductAttrs): Found | undefined {
    const { transposeA = false, transposeB = false } = attrs;
    const known = transposeA ? undefined : this.#inGradient.find(({ weight }) => weight === b.dataId);
    // An operator may compute its result again.
    if (known) return [known.transposeB === transposeB ? 'forward' : 'inputGradient', known.weight];
    const shape = `${a.shape.at(transposeA ? -1 : -2)}×${b.shape.at(transposeB ? -2 : -1)}`;
    const [ofA, ofB] = [this.#weightOf(a, shape), this.#weightOf(b, shape)];
    if (ofA) return ['weightGradientB', ofA];
    return ofB && ['weightGradientA', ofB];
  }

  /** Computes an 8-bit product, which takes `inputs` in place of those of the call. */
  run<T>(call: EightBitCall, inputs: NamedTensorMap, compute: () => T): T {
    const { computed, attrs, isForward, kind, noted } = call;
    const { a, b } = inputs as { a: Tensor; b: Tensor };
    if (noted) this.#note(noted, kind, [a, b]);
    if (!isForward) return compute();
    const product = {
      factors: [computed['a']!.dataId, a.dataId],
      weight: b.dataId,
      shape: `${b.shape.at(-2)}×${b.shape.at(-1)}`,
      transposeB: (attrs as ProductAttrs).transposeB ?? false,
    };
    return this.#asOperator([product], compute);
  }

  /** The factors of a result, and in gradients the gradient of the result: the others are noted by then. */
  #note(history: Variable, kind: EightBitProduct, factors: readonly Tensor[]): void {
    ROLES_OF[kind].forEach((role, i) => {
      const isNew = kind === 'forward' || role === 'gradient';
      if (isNew) this.histories!.note(history, FACTOR_ROLES.indexOf(role), factors[i]!);
    });
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

  /** The weight of this shape that the product had beside a factor. */
  #weightOf({ dataId }: Tensor, shapeOfWeight: string): object | undefined {
    return this.#inGradient.find(({ factors, shape }) => shape === shapeOfWeight && factors.includes(dataId))
      ?.weight;
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
