import { util } from '@tensorflow/tfjs-core';
import { AccError, isAccError, type NativeDtype } from '@acc/contract';
import { operator, type Tensor as NativeTensor } from '@acc/native';
import type { ElementwiseOperator } from '../fusion/elementwise-operators.js';
import { ProgramBuilder, type Operand } from '../fusion/fused-program.js';
import type { RecordedResult } from './recorded-result.js';
import { forgetPending, noteBytes, notePending, noteTensorDone, type Leaf } from './all-pending.js';

const run = operator('acc::elementwise');
const reshape = operator('aten::reshape');

export type PendingOperand = PendingValue | Leaf | number;

/** How a value is computed. */
export interface Computation {
  readonly form: ElementwiseOperator;
  readonly operands: readonly PendingOperand[];
  /** Numbers at the places of the operator's arguments. */
  readonly args: readonly number[];
  /** Computes a value that is in no program with others, if not by a program. Caller disposes. */
  readonly alone?: () => NativeTensor;
}

const BYTES_PER_ELEMENT = 4;

/** Its operand is broadcast and converted where it is read. */
export const copy: ElementwiseOperator = { emit: (_program, [x]) => x!, isExact: true };

/** Limits of what one program computes; see {@link PendingValue.fits}. */
const MAX_STEPS = 32;
const MAX_WIDE_LEAVES = 3;
/** Of rows of which blocks consist. Shorter ones take a loop each, longer ones do not fit the L1 cache. */
const [SHORTEST_ROW, LONGEST_ROW] = [32, 2048] as const;
/** The most programs that compute a value as a part of another one, while a tensor waits for it. */
const MAX_INLINED = 3;

/**
 * The result of an elementwise operator that is computed when somebody reads it, in one pass over
 * memory together with the operators before it. It is float32, on the CPU. Tensor data and other
 * pending values use it; {@link release} takes away one use.
 */
export class PendingValue {
  readonly byteLength: number;
  #uses = 1;
  /** Whether the data for which the value was made still uses it. */
  #hasData = true;
  #native: NativeTensor | undefined;
  /** The number of programs that have computed it as a part of another value. */
  #inlined = 0;
  /** Undefined once the value needs its operands no longer. */
  #computation: Computation | undefined;
  /** Handles of the leaves that are at least half as large as the value. */
  readonly #wideLeaves: ReadonlySet<number>;

  /** Takes over one use of each operand, and what stands for it if a step is recorded. */
  constructor(
    readonly shape: readonly number[],
    computation: Computation,
    private readonly recorded?: RecordedResult,
  ) {
    this.#computation = computation;
    const { operands } = computation;
    const size = util.sizeFromShape(shape as number[]);
    this.byteLength = size * BYTES_PER_ELEMENT;
    this.#wideLeaves = new Set(operands.flatMap((operand) => wideLeavesOf(operand, size)));
    notePending(this);
  }

  /** Whether a value of these operands stays small: its program, and the memory that it keeps alive. */
  static fits(operands: readonly PendingOperand[], size: number): boolean {
    const wide = new Set(operands.flatMap((operand) => wideLeavesOf(operand, size)));
    return wide.size <= MAX_WIDE_LEAVES && stepsOf(operands, new Set()) < MAX_STEPS;
  }

  /** The tensors that it holds itself. */
  get leaves(): readonly Leaf[] {
    return this.#computation?.operands.filter(isLeaf) ?? [];
  }

  /** Whether a tensor waits for it. */
  get hasData(): boolean {
    return this.#hasData;
  }

  get isComputed(): boolean {
    return this.#native !== undefined;
  }

  /** Its value in the recording in progress. */
  get inRecording(): RecordedResult | undefined {
    return this.recorded?.isCurrent ? this.recorded : undefined;
  }

  use(): this {
    this.#uses++;
    return this;
  }

  release(): void {
    if (--this.#uses > 0) return;
    if (this.#native) noteBytes(-this.byteLength);
    this.#native?.dispose();
    this.recorded?.dispose();
    this.#releaseOperands();
  }

  /** The data for which the value was made no longer uses it. */
  releaseData(): void {
    this.#hasData = false;
    noteTensorDone(this);
    this.release();
  }

  /** Like {@link releaseData}, after the result is computed. Returns it; the caller owns it. */
  takeForData(): NativeTensor {
    const computed = this.compute();
    // The handle itself, if possible: a recording knows a tensor by the first handle that it sees.
    const native = this.#uses === 1 ? computed : computed.alias();
    if (native !== computed) this.recorded?.bind(native);
    if (this.#uses === 1) {
      this.#native = undefined;
      noteBytes(-this.byteLength);
    }
    this.releaseData();
    return native;
  }

  /** Computes the value, if it is not computed yet. Borrowed. */
  compute(): NativeTensor {
    if (this.#native) return this.#native;
    const compute = (): NativeTensor => this.#computation!.alone?.() ?? this.computedAs('float32');
    this.#native = this.recorded ? this.recorded.compute(compute) : compute();
    noteBytes(this.byteLength);
    this.#releaseOperands();
    return this.#native;
  }

  /**
   * The value in `dtype`, and in a shape of as many elements, which is computed without keeping the
   * value itself. Caller disposes.
   */
  computedAs(dtype: NativeDtype, shape = this.shape): NativeTensor {
    const same = this.#converted;
    if (same?.dtype === dtype) return reshape(same, shape);
    this.#storeOperands(new Set());
    const program = new ProgramBuilder(this.#rowLength());
    const inputs: NativeTensor[] = [];
    const known = new Map<PendingValue | string, Operand>();
    const input = (key: PendingValue | string, native: NativeTensor, shape: readonly number[]) => {
      const operand = known.get(key) ?? program.input(shape);
      if (!known.has(key)) inputs.push(native);
      known.set(key, operand);
      return operand;
    };
    const operandOf = (operand: PendingOperand, shape: readonly number[]): Operand => {
      if (typeof operand === 'number') return program.constant(operand);
      if (isLeaf(operand)) {
        return input(`${operand.source}:${shape.join()}`, operand.native, shape);
      }
      const created = operand.#native;
      return created ? input(operand, created, operand.shape) : stepOf(operand);
    };
    const stepOf = (value: PendingValue): Operand => {
      const done = known.get(value);
      if (done !== undefined) return done;
      const { form, operands, args } = value.#computation!;
      const created = operands.map((operand) => operandOf(operand, value.shape));
      const result = form.emit(program, created, args);
      known.set(value, result);
      return result;
    };
    const value = stepOf(this);
    const result = program.isStep(value) ? value : program.step('copy', value);
    const size = util.sizeFromShape(shape as number[]);
    const built = program.build(size, [{ operand: result, extent: 'elements', dtype, shape }]);
    try {
      return run(inputs, built);
    } catch (error) {
      throw readable(error, `${dtype}[${shape.join()}]`);
    }
  }

  /**
   * The length of the rows that blocks of the program consist of, so that code reads a number of each
   * row or column where it lies. 0 if that is not possible, or if there are none.
   */
  #rowLength(): number {
    const length = this.shape.at(-1) ?? 0;
    const hasRows =
      length >= SHORTEST_ROW && length <= LONGEST_ROW && length * BYTES_PER_ELEMENT < this.byteLength;
    return hasRows && this.#hasOneForEach(length, new Set()) ? length : 0;
  }

  /** Whether an operand has a number for each row, or for each of `columns` columns. */
  #hasOneForEach(columns: number, seen: Set<PendingValue>): boolean {
    seen.add(this);
    const size = this.byteLength / BYTES_PER_ELEMENT;
    return this.#computation!.operands.some((operand) => {
      if (typeof operand === 'number') return false;
      if (operand instanceof PendingValue && !operand.#native) {
        const isLarge = operand.byteLength === this.byteLength;
        return isLarge && !seen.has(operand) && operand.#hasOneForEach(columns, seen);
      }
      const { shape } = isLeaf(operand) ? operand.native : operand;
      const own = util.sizeFromShape(shape as number[]);
      return own === columns || (own === size / columns && shape.at(-1) === 1);
    });
  }

  /** The tensor in another dtype that the value only converts. Borrowed. */
  get #converted(): NativeTensor | undefined {
    const { form, operands } = this.#computation!;
    const [operand] = operands;
    if (form !== copy || operand === undefined || !isLeaf(operand)) return undefined;
    const { native } = operand;
    const isWhole = util.sizeFromShape(native.shape as number[]) * BYTES_PER_ELEMENT === this.byteLength;
    return isWhole ? native : undefined;
  }

  /**
   * Computes values that its program is to read, and not to compute: those that stay alive and would
   * keep more memory alive than their own, or that many programs have computed.
   */
  #storeOperands(seen: Set<PendingValue>): void {
    for (const operand of this.#computation!.operands) {
      if (!(operand instanceof PendingValue) || operand.#native || seen.has(operand)) continue;
      seen.add(operand);
      const isStored = operand.#wideLeaves.size > 1 || ++operand.#inlined > MAX_INLINED;
      if (operand.#hasData && isStored) operand.compute();
      else operand.#storeOperands(seen);
    }
  }

  #releaseOperands(): void {
    forgetPending(this);
    for (const operand of this.#computation?.operands ?? []) releaseOperand(operand);
    this.#computation = undefined;
  }

  /** The operands of its program; empty once it is computed. */
  get operands(): readonly PendingOperand[] {
    return this.#computation?.operands ?? [];
  }

  /** For the limits of values that use this one. */
  wideLeaves(): readonly number[] {
    return this.#native ? [this.#native.id] : [...this.#wideLeaves];
  }
}

/** The error of a program, without its numbers. */
function readable(error: unknown, result: string): unknown {
  if (!isAccError(error)) return error;
  const { code, message, help, details } = error;
  const reason = message.replace(/^acc::elementwise\(.*?\]\): /s, '').split('\n→')[0]!;
  const what = `The result ${result} of elementwise operators, which is computed when it is read`;
  return new AccError(code, `${what}: ${reason}`, { ...(help && { help }), details, cause: error });
}

/** Gives back what a value would have used. */
export function releaseOperand(operand: PendingOperand): void {
  if (operand instanceof PendingValue) operand.release();
  else if (isLeaf(operand)) operand.native.dispose();
}

const isLeaf = (operand: PendingOperand): operand is Leaf =>
  typeof operand !== 'number' && !(operand instanceof PendingValue);

/** How many operators a program runs for these operands, each once, but those in `seen`. */
function stepsOf(operands: readonly PendingOperand[], seen: Set<PendingValue>): number {
  let steps = 0;
  for (const operand of operands) {
    if (!(operand instanceof PendingValue) || operand.isComputed || seen.has(operand)) continue;
    seen.add(operand);
    steps += 1 + stepsOf(operand.operands, seen);
  }
  return steps;
}

function wideLeavesOf(operand: PendingOperand, size: number): readonly number[] {
  if (typeof operand === 'number') return [];
  if (operand instanceof PendingValue) return operand.wideLeaves();
  return 2 * util.sizeFromShape(operand.native.shape as number[]) >= size ? [operand.source] : [];
}
