import { backend, memory, setBackend, tidy, type DataType, type Tensor } from '@tensorflow/tfjs-core';
import { expect } from 'vitest';
import { BACKEND_NAME } from '../acc-names.js';
import { registerAccBackend } from '../register-backend.js';

export interface CompareOptions {
  /** Relative tolerance, as a fraction of the expected value. Default 1e-5. */
  readonly rtol?: number;
  /** Absolute tolerance, in the unit of the values. Default 1e-6. */
  readonly atol?: number;
}

/** A result of a backend, copied off the backend. */
interface Outcome {
  readonly dtype: DataType;
  readonly shape: readonly number[];
  readonly values: ArrayLike<number | string>;
}

/**
 * Runs `compute` on `acc` and on tfjs's cpu backend and expects equal shapes, dtypes and values.
 * NaN and infinities must be at the same positions, integers must be equal, and booleans must have
 * the same truth value. `compute` creates its tensors anew in each run. Its results are disposed;
 * on `acc`, no native data may be left.
 *
 * @throws The failed assertion, or the error that `compute` throws.
 */
export async function expectSameAsCpu(
  compute: () => Tensor | Tensor[],
  options: CompareOptions = {},
): Promise<void> {
  const expected = await outcomesOn('cpu', compute);
  const actual = await outcomesOn(BACKEND_NAME, compute);
  expect(actual.map(({ dtype, shape }) => ({ dtype, shape }))).toEqual(
    expected.map(({ dtype, shape }) => ({ dtype, shape })),
  );
  actual.forEach((outcome, i) => expectSameValues(outcome, expected[i]!, options));
}

async function outcomesOn(name: string, compute: () => Tensor | Tensor[]): Promise<Outcome[]> {
  registerAccBackend();
  // tfjs returns false if a backend cannot start: nothing would be compared.
  if (!(await setBackend(name))) throw new Error(`The backend '${name}' could not be started.`);
  const storage = backend();
  const before = { ids: storage.numDataIds(), tensors: memory().numTensors };
  const tensors = [tidy(compute as () => Tensor[])].flat() as Tensor[];
  const outcomes = tensors.map((x) => ({
    dtype: x.dtype,
    shape: x.shape,
    values: x.dataSync() as ArrayLike<number>,
  }));
  tensors.forEach((x) => x.dispose());
  if (name === BACKEND_NAME) {
    expect({ ids: storage.numDataIds(), tensors: memory().numTensors }).toEqual(before);
  }
  return outcomes;
}

function expectSameValues(actual: Outcome, expected: Outcome, options: CompareOptions): void {
  const { rtol = 1e-5, atol = 1e-6 } = options;
  expect(actual.values.length).toBe(expected.values.length);
  for (let i = 0; i < expected.values.length; i++) {
    const [a, e] = [actual.values[i]!, expected.values[i]!];
    if (isSame(a, e, expected.dtype, rtol, atol)) continue;
    expect.fail(`element ${i} of ${expected.values.length} (${expected.dtype}) is ${a}, but ${e} on cpu`);
  }
}

function isSame(
  a: number | string,
  e: number | string,
  dtype: DataType,
  rtol: number,
  atol: number,
): boolean {
  if (a === e || Object.is(a, e)) return true;
  if (typeof a === 'string' || typeof e === 'string' || dtype === 'int32') return false;
  if (dtype === 'bool') return Boolean(a) === Boolean(e);
  if (!Number.isFinite(a) || !Number.isFinite(e)) return false;
  return Math.abs(a - e) <= atol + rtol * Math.abs(e);
}
