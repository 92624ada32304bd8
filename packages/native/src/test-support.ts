import { expect } from 'vitest';
import { cutRecording, finishRecording, startRecording, type Recording } from './recording.js';
import { tensorFrom, type Tensor } from './tensor.js';

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
