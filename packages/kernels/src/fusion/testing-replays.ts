import { backend, setBackend, tidy, util, type Tensor } from '@tensorflow/tfjs-core';
import type { Fusion, NativeDtype, Recording } from '@acc/contract';
import { operator, tensorFrom, type Tensor as Native } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { StepRecorder } from '../recording/recorder.js';
import { registerAccBackend } from '../register-backend.js';

// Replays of recorded operators with and without fusion, for tests.

export const castTo = operator('aten::_to_copy');
export const negated = operator('aten::neg');
const isPositive = operator('aten::gt.Scalar');

/** The dtype and the shape of an operand. */
export type Operand = readonly [NativeDtype, readonly number[]];

const DENORMAL = 1e-40;
const SPECIAL = [0, -0, NaN, Infinity, -Infinity, 0.1, 0.2, 0.3, 3e38, DENORMAL, 0.9, -0.9];

/** Different numbers. Large tensors begin with special ones, in another order for each seed. */
function tensorOf([dtype, shape]: Operand, seed: number): Native {
  const size = util.sizeFromShape([...shape]);
  const values = Float32Array.from({ length: size }, (_, i) => 2 * Math.sin(i * i + seed));
  const start = seed % SPECIAL.length;
  if (size > SPECIAL.length) values.set([...SPECIAL.slice(start), ...SPECIAL.slice(0, start)]);
  const created = tensorFrom(values, 'float32', shape);
  if (dtype === 'float32') return created;
  using floats = created;
  return dtype === 'bool' ? isPositive(floats, 0) : castTo(floats, dtype);
}

export interface Replayed {
  readonly dtype: NativeDtype;
  readonly values: readonly Float32Array[];
  readonly fused: readonly string[];
}

export class Replayer {
  private constructor(
    private readonly backend: AccBackend,
    readonly recorder: StepRecorder,
  ) {}

  /** Makes `acc` the backend of tfjs. */
  static async create(): Promise<Replayer> {
    registerAccBackend();
    await setBackend('acc');
    const acc = backend() as AccBackend;
    return new Replayer(acc, new StepRecorder(acc));
  }

  /** Replays an operator and what follows it with other operands than it was recorded with. */
  replayed(operands: readonly Operand[], run: (...xs: Native[]) => Native, fusion: Fusion): Replayed {
    const tensorsOf = (seed: number): Tensor[] =>
      operands.map((operand, i) =>
        this.backend.tensorOf(tensorOf(operand, seed + i), operand[0] === 'bool' ? 'bool' : 'float32'),
      );
    let dtype: NativeDtype = 'float32';
    return tidy(() => {
      const args = tensorsOf(1);
      const recorded = this.recorder.record(args, () => {
        const result = run(...args.map((arg) => this.backend.nativeOfData(arg)!));
        ({ dtype } = result);
        const created = [result, negated(castTo(result, 'float32'))];
        return created.map((native) =>
          this.backend.tensorOf(native, native.dtype === 'bool' ? 'bool' : 'float32'),
        );
      });
      const recording = recorded.recording as Recording;
      recording.seal(fusion);
      const results = recording.replay(tensorsOf(50));
      if (results instanceof Error) throw results;
      const values = results.map(
        (x) => castTo(this.backend.nativeOfData(x)!, 'float32').read() as Float32Array,
      );
      const fused = [...recording.explanation.matchAll(/out: (.*)$/gm)].flatMap(([, names]) =>
        names!.split(' '),
      );
      recording.dispose();
      return { dtype, values, fused };
    });
  }
}

/** The largest difference by rounding, for the dtype of the operator's result. */
export const BOUNDS: Partial<Record<NativeDtype, number>> = { float32: 1e-6, bfloat16: 2 ** -7, bool: 0 };

/** The first pair of numbers that differ by more than `bound`, relative to numbers above 1. */
export function difference(values: Float32Array, others: Float32Array, bound: number): number[] | undefined {
  for (const [i, value] of values.entries()) {
    const other = others[i]!;
    const isClose = Math.abs(value - other) <= bound * Math.max(1, Math.abs(value));
    if (!Object.is(value, other) && !isClose) return [value, other];
  }
  return undefined;
}
