import { afterEach, expect, it } from 'vitest';
import { operator } from './operator.js';
import { cutRecording, finishRecording, startRecording, type Recording } from './recording.js';
import { MemoryFlag, memoryFlags, memoryPart, Tensor } from './tensor.js';
import { META, pair, valuesOf } from './test-support.js';

const add = operator('aten::add.Tensor');
const multiply = operator('aten::mul.Scalar');

const made: Recording[] = [];
afterEach(() => made.splice(0).forEach((recording) => recording.dispose()));

/** The recording of `3 · kept + x`, whose values are kept, its product, x and the sum. */
function recorded(kept: Tensor): Recording {
  const x = pair(1, 2);
  startRecording();
  const result = add(multiply(kept, 3), x);
  expect([...cutRecording([result])]).toEqual([kept.id, x.id]);
  const recording = finishRecording() as Recording;
  made.push(recording);
  return recording;
}

const fixed = (recording: Recording): number[] =>
  (JSON.parse(recording.describe()) as { captured: number[] }).captured;
const isExclusive = (x: Tensor): boolean => (memoryFlags([x])[0]! & MemoryFlag.exclusive) !== 0;

it('computes constants from a fixed input, whose memory is not exclusive until the recording is disposed', () => {
  const kept = pair(10, 20);
  const recording = recorded(kept);
  expect(isExclusive(kept)).toBe(true);
  recording.fixInputs([{ segment: 0, input: 0, id: kept.id }]);
  expect(fixed(recording)).toEqual([0]);
  using constant = recording.constant(1, META);
  expect(valuesOf(constant)).toEqual([30, 60]);
  recording.rewrite([4, 1, ...[1, 1, 2, 1, 2], 0]);
  recording.seal();
  const x = pair(1, 2);
  expect(valuesOf(recording.replay(0, [kept.id, x.id], [META])[0]!)).toEqual([31, 62]);
  expect(isExclusive(kept)).toBe(false);
  expect(isExclusive(pair(1, 1))).toBe(true);
  recording.dispose();
  made.pop();
  expect(isExclusive(kept)).toBe(true);
});

it('needs the fixed input in a replay, although no call takes it', () => {
  const kept = pair(10, 20);
  const recording = recorded(kept);
  recording.fixInputs([{ segment: 0, input: 0, id: kept.id }]);
  recording.rewrite([4, 1, ...[1, 1, 2, 1, 2], 0]);
  recording.seal();
  const { id } = kept;
  kept.dispose();
  expect(() => recording.replay(0, [id, pair(1, 2).id], [META])).toThrowError(
    expect.objectContaining({ code: 'ACC_TENSOR_DISPOSED' }),
  );
});

it('memory is frozen as long as one of two recordings lives', () => {
  const kept = pair(10, 20);
  for (const recording of [recorded(kept), recorded(kept)]) {
    recording.fixInputs([{ segment: 0, input: 0, id: kept.id }]);
  }
  made.pop()!.dispose();
  expect(isExclusive(kept)).toBe(false);
  made.pop()!.dispose();
  expect(isExclusive(kept)).toBe(true);
});

it.each<[string, () => Tensor]>([
  ['an array of JavaScript', () => Tensor.over(Float32Array.of(1, 2), 'float32', [2])],
  ['a part of other memory', () => memoryPart(pair(1, 2), 0, 2)],
])('leaves out what others may write without asking: %s', (_, make) => {
  const kept = make();
  const recording = recorded(kept);
  recording.fixInputs([{ segment: 0, input: 0, id: kept.id }]);
  expect(fixed(recording)).toEqual([]);
});

it('leaves out what was disposed', () => {
  const kept = pair(1, 2);
  const recording = recorded(kept);
  const { id } = kept;
  kept.dispose();
  recording.fixInputs([{ segment: 0, input: 0, id }]);
  expect(fixed(recording)).toEqual([]);
});
