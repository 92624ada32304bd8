import { Identity, Softmax, Tensor, Variable, type NamedTensorMap } from '@tensorflow/tfjs-core';
import { isPlainRecord, type NativeDtype, type PrecisionLayer } from '@acc/contract';
import {
  besideTape,
  engineInternals,
  patch,
  replaceData,
  type CustomOperator,
  type Undo,
} from '@acc/tfjs-internals';
import type { EightBitCall, EightBitProducts, Phase } from './eight-bit-products.js';
import type { OpLists } from './op-lists.js';

export type LowerDtype = 'bfloat16' | 'float16';

/**
 * The gradient of a softmax. It computes in 16 bits if the softmax has saved its result in them, because
 * the products before and after it do. Within, libtorch adds in float32.
 */
const SOFTMAX_GRAD = 'SoftmaxGrad';

/** A product that takes a result of a softmax is this near on the tape. */
const NEAR_NODES = 8;

type Treatment = 'lower' | 'float32' | 'asGiven';

/**
 * Chooses the element type of every kernel while it is active. Operators on tfjs's tape convert the
 * inputs before the kernel runs. Therefore the tensors that are saved for the gradient are those
 * that the kernel used, and gradients are converted back.
 */
export class Autocast {
  readonly #treatments: ReadonlyMap<string, Treatment>;
  readonly #engine = engineInternals();
  #phase: Phase | undefined;
  /** The layer that was told to keep tensors for gradients in 16 bits. */
  #keeping: PrecisionLayer | undefined;
  /**
   * The converted tensors, so that each is converted only once: one map for each tape, and one
   * outside tapes.
   */
  readonly #onTape = new WeakMap<object, Conversions>();
  #besideTape: Conversions = new WeakMap();
  /** Removes the wrappers of the engine's methods after a phase. */
  #undos: readonly Undo[] = [];

  constructor(
    /**
     * The layer of the active backend. Undefined if the backend computes in float32 only; then
     * nothing is converted.
     */
    private readonly precision: () => PrecisionLayer | undefined,
    private readonly dtype: LowerDtype,
    lists: OpLists,
    /** The products that round to 8 bits. Undefined: none. */
    private readonly eightBits?: EightBitProducts,
  ) {
    const kinds = Object.entries(lists) as [Treatment, readonly string[]][];
    this.#treatments = new Map(kinds.flatMap(([kind, names]) => names.map((name) => [name, kind] as const)));
  }

  get isOn(): boolean {
    return this.#phase !== undefined;
  }

  /**
   * Runs `compute` with the op lists. Tensors in its result, including nested arrays and records,
   * are converted to float32.
   */
  forward<T>(compute: () => T): T {
    return this.#during('forward', () => this.#inFloat32Throughout(compute()) as T);
  }

  #inFloat32Throughout(value: unknown): unknown {
    if (value instanceof Tensor) return this.inFloat32(value);
    if (Array.isArray(value)) return value.map((item) => this.#inFloat32Throughout(item));
    if (!isPlainRecord(value)) return value;
    const entries = Object.entries(value).map(
      ([key, item]) => [key, this.#inFloat32Throughout(item)] as const,
    );
    return Object.fromEntries(entries);
  }

  /**
   * Runs a gradient. Kernels that ran in 16 bits forward also do so backward. Sums keep the type of
   * their inputs.
   */
  backward<T>(compute: () => T): T {
    return this.#during('backward', compute);
  }

  /** Returns a function that runs a computation later with the current setting. */
  capture(): <T>(compute: () => T) => T {
    const phase = this.#phase;
    return (compute) => this.#during(phase, compute);
  }

  /** Runs `compute` without mixed precision. */
  off<T>(compute: () => T): T {
    return this.#during(undefined, compute);
  }

  /** Returns `x`, converted to float32 if it has 16 bits. */
  inFloat32(x: Tensor): Tensor {
    return this.#isShort(x) ? this.precision()!.cast(x, 'float32') : x;
  }

  #during<T>(phase: Phase | undefined, compute: () => T): T {
    const before = this.#phase;
    if (before === phase) return compute();
    // Before the phase changes: it throws.
    if (phase === 'forward') this.eightBits?.requireWeights(this.#engine.isTapeOn());
    this.#enter(phase);
    try {
      return compute();
    } finally {
      this.#enter(before);
    }
  }

  #enter(phase: Phase | undefined): void {
    this.#phase = phase;
    this.#besideTape = new WeakMap();
    this.#keeping?.keepIn(undefined);
    this.#keeping = phase === 'forward' ? this.precision() : undefined;
    this.#keeping?.keepIn(this.dtype);
    if (phase === 'forward') this.eightBits?.begin();
    for (const undo of this.#undos) undo();
    this.#undos = phase ? this.#patchEngine() : [];
  }

  #patchEngine(): Undo[] {
    const engine = this.#engine;
    return [
      patch(engine, 'runKernel', 'autocast', (own) => (name, inputs, attrs) => {
        const call = this.precision() && this.eightBits?.callOf(this.#phase!, name, inputs, attrs);
        if (!call) return own.call(engine, name, this.#converted(name, inputs), attrs);
        const rounded = this.#rounded(call);
        return this.eightBits!.run(call, rounded, () => own.call(engine, name, rounded, call.attrs));
      }),
      patch(
        engine,
        'runKernelFunc',
        'autocast',
        (own) => (params) => own.call(engine, 'forwardFunc' in params ? this.#savingShort(params) : params),
      ),
      ...((this.#phase === 'forward' && this.eightBits?.watchOperators(engine)) || []),
    ];
  }

  #converted(kernelName: string, inputs: NamedTensorMap): NamedTensorMap {
    switch (this.#treatments.get(kernelName)) {
      case 'asGiven':
        return inputs;
      case 'lower':
        return this.#lowered(inputs);
      case 'float32':
        if (this.#phase === 'forward') return this.#widened(inputs);
        break;
      case undefined:
    }
    if (!this.#isMixed(inputs)) return inputs;
    const isShort = kernelName === SOFTMAX_GRAD || this.#isWithBias(inputs);
    return isShort ? this.#lowered(inputs) : this.#widened(inputs);
  }

  /** The inputs of an 8-bit product. It rounds weights from float32, and what layers compute from 16 bits. */
  #rounded({ computed, others }: EightBitCall): NamedTensorMap {
    return { ...this.#lowered(computed), ...others };
  }

  #lowered(inputs: NamedTensorMap): NamedTensorMap {
    return this.#mapFloats(inputs, (x, dtype) => (dtype === 'float32' ? this.#cast(x, this.dtype) : x));
  }

  #widened(inputs: NamedTensorMap): NamedTensorMap {
    return this.#mapFloats(inputs, (x, dtype) => (dtype === this.dtype ? this.#cast(x, 'float32') : x));
  }

  #isMixed(inputs: NamedTensorMap): boolean {
    let first: NativeDtype | undefined;
    for (const name in inputs) {
      const x = inputs[name];
      if (!isFloat(x)) continue;
      const dtype = this.precision()?.dtypeOf(x);
      if (dtype === undefined) continue;
      if (first !== undefined && dtype !== first) return true;
      first = dtype;
    }
    return false;
  }

  /**
   * Whether the inputs are 16-bit numbers and a bias. The bias is then 16-bit too, as in a kernel
   * that adds it itself.
   */
  #isWithBias(inputs: NamedTensorMap): boolean {
    return Object.values(inputs).every((x) => !isFloat(x) || this.#isShort(x) || isBias(x));
  }

  /** Replaces only inputs that change. Some kernels take lists. */
  #mapFloats(
    inputs: NamedTensorMap,
    map: (x: Tensor, dtype: NativeDtype | undefined) => Tensor,
  ): NamedTensorMap {
    let mapped: NamedTensorMap | undefined;
    for (const name in inputs) {
      const x = inputs[name];
      if (!isFloat(x)) continue;
      const y = map(x, this.precision()?.dtypeOf(x));
      if (y === x) continue;
      mapped ??= (Array.isArray(inputs) ? [...(inputs as Tensor[])] : { ...inputs }) as NamedTensorMap;
      mapped[name] = y;
    }
    return mapped ?? inputs;
  }

  #cast(x: Tensor, dtype: NativeDtype): Tensor {
    const known = this.#known();
    const found = known.get(x);
    if (found && !found.isDisposed) return found;
    const isAgain = found !== undefined && dtype === 'float32' && this.#engine.isTapeOn();
    const y = isAgain ? this.#widenedAgain(x, found) : this.precision()!.cast(x, dtype);
    known.set(x, y);
    if (dtype === 'bfloat16') this.#saveShortResult(x, y);
    return y;
  }

  /**
   * Lets the softmax that made `x` save its 16-bit form, which a product takes and saves too. Its
   * gradient also takes the gradient of `x`, a product of 16 bits, which is not more exact.
   */
  #saveShortResult(x: Tensor, short: Tensor): void {
    if (!this.#engine.isTapeOn()) return;
    const tape = this.#engine.state.activeTape!;
    for (const { kernelName, outputs, saved = [] } of tape.slice(-NEAR_NODES)) {
      if (kernelName !== Softmax || outputs[0] !== x) continue;
      for (const result of saved) if (!result.isDisposed) replaceData(result, short);
    }
  }

  /**
   * Converts `x` to float32 once more: the scope of an operator disposes `before`, which the operator
   * converted. On the tape the result is `before`, so gradients with respect to it are added in
   * float32, and converted to 16 bits once. Shares the data of `before` if the tape keeps them.
   */
  #widenedAgain(x: Tensor, before: Tensor): Tensor {
    const engine = this.#engine;
    const inputs = { x: before };
    if (engine.state.tensorInfo.has(before.dataId)) return engine.runKernel(Identity, inputs) as Tensor;
    const y = besideTape(() => this.precision()!.cast(x, 'float32'));
    engine.addTapeNode(Identity, inputs, [y], null, [], {});
    return y;
  }

  /**
   * A tensor that was converted on another tape, or outside it, has no gradient on this tape.
   * Therefore each tape has its own map.
   */
  #known(): Conversions {
    if (!this.#engine.isTapeOn()) return this.#besideTape;
    const tape = this.#engine.state.activeTape!;
    let known = this.#onTape.get(tape);
    if (!known) {
      known = new WeakMap();
      this.#onTape.set(tape, known);
    }
    return known;
  }

  #isShort(x: Tensor): boolean {
    return isFloat(x) && this.precision()?.dtypeOf(x) === this.dtype;
  }

  /**
   * Operators of tfjs with their own gradient functions save their original inputs. This makes them
   * save the converted inputs instead.
   */
  #savingShort(params: CustomOperator): CustomOperator {
    const { forwardFunc } = params;
    return {
      ...params,
      forwardFunc: (backend, save) =>
        forwardFunc(backend, (tensors) =>
          save(
            tensors.map((x) => {
              const short = this.#besideTape.get(x);
              return short && !short.isDisposed && this.#isShort(short) ? short : x;
            }),
          ),
        ),
    };
  }
}

const isFloat = (x: Tensor | null | undefined): x is Tensor => x != null && x.dtype === 'float32';

const isBias = (x: Tensor): boolean => x instanceof Variable && x.rank === 1;

/** Maps a tensor to its converted form. */
type Conversions = WeakMap<Tensor, Tensor>;
