import { Tensor, Variable, type NamedTensorMap } from '@tensorflow/tfjs-core';
import { isPlainRecord, type NativeDtype, type PrecisionLayer } from '@acc/contract';
import { engineInternals, patch, type CustomOperator, type Undo } from '@acc/tfjs-internals';
import type { OpLists } from './op-lists.js';

export type LowerDtype = 'bfloat16' | 'float16';

type Treatment = 'lower' | 'float32' | 'asGiven';
type Phase = 'forward' | 'backward';

/**
 * Chooses the element type of every kernel while it is on: inputs are converted by operators on tfjs's tape before the kernel
 * runs, so that what is saved for the gradient is what the kernel had, and gradients are converted back.
 */
export class Autocast {
  readonly #treatments: ReadonlyMap<string, Treatment>;
  readonly #engine = engineInternals();
  #phase: Phase | undefined;
  /** What was told to keep in 16 bits what gradients need. */
  #keeping: PrecisionLayer | undefined;
  /** What tensors were converted to, so that each is converted once: on each tape, and beside them. */
  readonly #onTape = new WeakMap<object, Conversions>();
  #besideTape: Conversions = new WeakMap();
  /** Takes away what stands before the engine's methods during a phase. */
  #undos: readonly Undo[] = [];

  constructor(
    /** Of the active backend; undefined on one that computes in float32 only, where nothing is converted. */
    private readonly precision: () => PrecisionLayer | undefined,
    private readonly dtype: LowerDtype,
    lists: OpLists,
  ) {
    const kinds = Object.entries(lists) as [Treatment, readonly string[]][];
    this.#treatments = new Map(kinds.flatMap(([kind, names]) => names.map((name) => [name, kind] as const)));
  }

  get isOn(): boolean {
    return this.#phase !== undefined;
  }

  /** Runs `compute` with the lists. Tensors in its result, or in its arrays and records, are converted to float32. */
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

  /** Runs a gradient: what ran in 16 bits forward does so backward, and sums stay in the type that they come in. */
  backward<T>(compute: () => T): T {
    return this.#during('backward', compute);
  }

  /** Gives what runs a computation later as it would be run now. */
  capture(): <T>(compute: () => T) => T {
    const phase = this.#phase;
    return (compute) => this.#during(phase, compute);
  }

  /** Runs `compute` as if there were no mixed precision. */
  off<T>(compute: () => T): T {
    return this.#during(undefined, compute);
  }

  /** `x` itself, or the float32 of a 16-bit one. */
  inFloat32(x: Tensor): Tensor {
    return this.#isShort(x) ? this.precision()!.cast(x, 'float32') : x;
  }

  #during<T>(phase: Phase | undefined, compute: () => T): T {
    const before = this.#phase;
    if (before === phase) return compute();
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
    for (const undo of this.#undos) undo();
    this.#undos = phase ? this.#patchEngine() : [];
  }

  #patchEngine(): Undo[] {
    const engine = this.#engine;
    return [
      patch(
        engine,
        'runKernel',
        (own) => (name, inputs, attrs) => own.call(engine, name, this.#converted(name, inputs), attrs),
      ),
      patch(
        engine,
        'runKernelFunc',
        (own) => (params) => own.call(engine, 'forwardFunc' in params ? this.#savingShort(params) : params),
      ),
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
    return this.#isWithBias(inputs) ? this.#lowered(inputs) : this.#widened(inputs);
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

  /** A bias beside 16-bit numbers is 16-bit, as in a kernel that adds it itself. */
  #isWithBias(inputs: NamedTensorMap): boolean {
    return Object.values(inputs).every((x) => !isFloat(x) || this.#isShort(x) || isBias(x));
  }

  /** Only what changes is written anew. Some kernels take lists. */
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
    const y = this.precision()!.cast(x, dtype);
    known.set(x, y);
    return y;
  }

  /** What was made on another tape, or beside it, has no gradient on this one. */
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

  /** tfjs's operators with gradient functions of their own save what they were given: here what was computed with. */
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

/** By the tensor that was converted. */
type Conversions = WeakMap<Tensor, Tensor>;
