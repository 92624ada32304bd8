// Calls with odd arguments, on acc and on tfjs's cpu backend. For other calls:
//   ACC_TEST_SEED=12345 npx vitest run …
import * as tf from '@tensorflow/tfjs-core';
import { beforeAll, expect, inject, it } from 'vitest';
import { isAccError } from '@acc/contract';
import { registerAccBackend } from '../register-backend.js';
import { ODD_FUNCTIONS, oddCall, type OddCall } from '../testing/odd-calls/odd-call.js';

const SEED = Number(process.env['ACC_TEST_SEED'] ?? 1);
const COUNT = inject('isRelease') ? 100 : 4;

interface Value {
  readonly shape: readonly number[];
  readonly dtype: tf.DataType;
  readonly values: readonly number[];
}

type Outcome = readonly Value[] | Error;

beforeAll(() => registerAccBackend());

async function outcomesOn(backend: string, calls: readonly OddCall[]): Promise<Outcome[]> {
  expect(await tf.setBackend(backend)).toBe(true);
  return calls.map(outcomeOf);
}

function outcomeOf({ run }: OddCall): Outcome {
  tf.engine().startScope();
  try {
    return run().map((x) => ({ shape: x.shape, dtype: x.dtype, values: [...x.dataSync()] }));
  } catch (error) {
    return error as Error;
  } finally {
    tf.engine().endScope();
  }
}

/** Whether tfjs's cpu backend gives a tensor that does not exist. */
const isBroken = ({ shape, values }: Value): boolean =>
  shape.some((size) => !Number.isInteger(size) || size < 0) ||
  values.length < tf.util.sizeFromShape([...shape]);

/** Whether it gives elements that are none. */
const hasNaN = ({ values }: Value): boolean => values.some(Number.isNaN);

/** Of tf.stridedSlice against its stride, as in TensorFlow; tfjs's cpu backend fails. */
const isEmpty = (values: readonly Value[]): boolean => values.every(({ shape }) => shape.includes(0));

/** The tensor that does not exist may be an inner one: tf.conv1d reshapes the result of tf.conv2d. */
const isOfBroken = (name: string, { message }: Error): boolean =>
  name === 'conv1d' && /gives a result of shape \[[^\]]*-/.test(message);

/** A named error or a value is right for a broken result; a named error for one with NaN. */
function isRight(name: string, actual: Outcome, expected: Outcome): boolean {
  if (expected instanceof Error)
    return actual instanceof Error || (name === 'stridedSlice' && isEmpty(actual));
  if (expected.some(isBroken)) return true;
  if (actual instanceof Error)
    return (expected.some(hasNaN) || isOfBroken(name, actual)) && isAccError(actual, 'ACC_INVALID_ARGUMENT');
  return actual.length === expected.length && actual.every((value, i) => isSame(value, expected[i]!));
}

function isSame(a: Value, b: Value): boolean {
  if (a.dtype !== b.dtype || a.shape.join() !== b.shape.join()) return false;
  const isClose = (x: number, y: number): boolean =>
    Object.is(x, y) || x === y || Math.abs(x - y) <= 1e-5 + 1e-4 * Math.abs(y);
  return a.values.every((x, i) => (a.dtype === 'bool' ? !x === !b.values[i] : isClose(x, b.values[i]!)));
}

it.each(ODD_FUNCTIONS)('%s', async (name) => {
  const calls = Array.from({ length: COUNT }, (_, i) => oddCall(name, SEED * 100_003 + i * 7919));
  const expected = await outcomesOn('cpu', calls);
  const actual = await outcomesOn('acc', calls);
  const wrong = calls.flatMap(({ text }, i) => (isRight(name, actual[i]!, expected[i]!) ? [] : [text]));
  expect(wrong).toEqual([]);
});
