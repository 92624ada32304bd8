import { expect } from 'vitest';
import type { NativeDtype } from '@acc/contract';
import { operator } from './operator.js';
import { cutRecording, finishRecording, startRecording, type Recording } from './recording.js';
import { tensorFrom, type Tensor } from './tensor.js';

const convert = operator('aten::to.dtype');

/** The result of {@link replayed} recordings: a float32 tensor of two elements. */
export const META = { dtype: 'float32', shape: [2] } as const;
export const pair = (a: number, b: number): Tensor => tensorFrom(Float32Array.of(a, b), 'float32', [2]);
export const valuesOf = (x: Tensor): number[] => [...(x.read() as Float32Array)];

/** Records `step`, a function of `x`. */
export function record(step: (x: Tensor) => Tensor, x = pair(1, 2)): Recording | string {
  startRecording();
  const result = step(x);
  const outside = cutRecording([result]);
  expect([...outside]).toEqual([x.id]);
  return finishRecording();
}

/** The values of the result of a replay with `x`. */
export const replayed = (recording: Recording, x: Tensor): number[] =>
  valuesOf(recording.replay(0, [x.id], [META])[0]!);

/** The same numbers in every run, from -limit to limit. All dtypes have those of bfloat16. */
export function wave(shape: readonly number[], dtype: NativeDtype, limit = 1.5): Tensor {
  const size = shape.reduce((count, length) => count * length, 1);
  const values = Float64Array.from({ length: size }, (_, i) => limit * Math.sin(1.7 * i + shape.length));
  using exact = tensorFrom(values, 'float64', shape);
  using rounded = convert(exact, 'bfloat16');
  return convert(rounded, dtype, false, true);
}

/** The elements of tensors, which it disposes. */
export function readAll(tensors: readonly Tensor[]): number[][] {
  return tensors.map((tensor) => {
    using held = tensor;
    return [...(held.read('float64') as Float64Array)];
  });
}
