import * as tf from '@tensorflow/tfjs';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Recording } from '@acc/contract';
import type { AccBackend } from '../backend.js';
import { constantOf } from '../host-constants.js';
import { registerAccBackend } from '../register-backend.js';
import { StepRecorder } from './recorder.js';

let recorder: StepRecorder;
beforeAll(() => registerAccBackend());
beforeEach(async () => {
  await tf.setBackend('acc');
  recorder = new StepRecorder(tf.backend() as AccBackend);
});

const valueOf = (x: tf.Tensor) => x.dataSync()[0];

function record(args: readonly tf.Tensor[], step: () => tf.Tensor): Recording | string {
  return recorder.record(args, () => [tf.tidy(step)]).recording;
}

function sealed(args: readonly tf.Tensor[], step: () => tf.Tensor): Recording {
  const recording = record(args, step) as Recording;
  recording.seal(false);
  return recording;
}

const replayed = (recording: Recording, ...args: tf.Tensor[]) =>
  tf.tidy(() => {
    const results = recording.replay(args);
    if (results instanceof Error) throw results;
    return valueOf(results[0]!);
  });

describe('StepRecorder', () => {
  it('reads variables at the time of the replay, and assigns them', () => {
    const w = tf.variable(tf.scalar(1));
    const x = tf.scalar(10);
    const recording = sealed([x], () => {
      w.assign(w.add(x));
      return w.mul(2);
    });
    expect(valueOf(w)).toBe(11);
    expect(replayed(recording, tf.scalar(100))).toBe(222);
    expect(valueOf(w)).toBe(111);
    w.assign(tf.scalar(0));
    expect(replayed(recording, tf.scalar(1))).toBe(2);
    recording.dispose();
  });

  it('runs actions in each replay with new tensors, and continues with their results', () => {
    const x = tf.scalar(1);
    const seen: (number | undefined)[] = [];
    const recording = sealed([x], () => {
      const [given] = recorder.runAction([x.mul(2)], ([doubled]) => {
        // Reading a value is allowed inside an action.
        seen.push(valueOf(doubled!));
        return [tf.scalar(seen.length), null];
      });
      return given!.add(x);
    });
    expect(replayed(recording, tf.scalar(10))).toBe(12);
    expect(replayed(recording, tf.scalar(20))).toBe(23);
    expect(seen).toEqual([2, 20, 40]);
    recording.dispose();
  });

  it('knows scalars of the step in all segments, and none that actions or others made', () => {
    const outer = tf.scalar(2);
    const known: (number | undefined)[][] = [];
    const recording = sealed([tf.scalar(1)], () => {
      const own = tf.scalar(3);
      const constants = (...xs: tf.Tensor[]) => void known.push(xs.map(constantOf));
      constants(outer, own);
      const [given] = recorder.runAction([own], ([passed]) => {
        constants(outer, own, passed!);
        return [tf.scalar(4)];
      });
      constants(outer, own, given!);
      return given!.add(own);
    });
    expect(known).toEqual([
      [undefined, 3],
      [undefined, undefined, undefined],
      [undefined, 3, undefined],
    ]);
    recording.dispose();
  });

  it('throws if an action returns another shape than in the recording', () => {
    const x = tf.scalar(1);
    let isGiven = true;
    const recording = sealed([x], () => {
      const [given] = recorder.runAction([], () => [isGiven ? tf.scalar(1) : null]);
      return given ? given.add(x) : x.add(0);
    });
    isGiven = false;
    expect(() => replayed(recording, x)).toThrowError(
      expect.objectContaining({ code: 'ACC_COMPILE_CHANGED' }),
    );
    isGiven = true;
    expect(replayed(recording, tf.scalar(2))).toBe(3);
    recording.dispose();
  });

  it('does not fit if a variable or a captured tensor is gone', () => {
    const w = tf.variable(tf.scalar(1));
    const mask = tf.scalar(3);
    const x = tf.scalar(1);
    const recording = sealed([x], () => x.mul(w).mul(mask));
    expect(recording.fits([x])).toBe(true);
    mask.dispose();
    expect(recording.fits([x])).toBe(false);
    const other = sealed([x], () => x.mul(w));
    w.dispose();
    expect(other.fits([x])).toBe(false);
  });

  it('refuses steps that a replay could not distinguish', () => {
    const w = tf.variable(tf.scalar(1));
    const v = tf.variable(w);
    expect(record([], () => v.add(1))).toMatch(/takes the variable '.+', which shares its data with another/);
    const clone = w.clone();
    expect(record([clone], () => clone.add(1))).toMatch(/shares its data with a variable/);
  });

  it('records one step at a time, and remains usable after an error of the step', () => {
    const x = tf.scalar(1);
    expect(() => record([x], () => tf.tidy(() => record([x], () => x) as never))).toThrowError(
      expect.objectContaining({ code: 'ACC_ALREADY_RECORDING' }),
    );
    expect(recorder.isRecording).toBe(false);
    expect(
      replayed(
        sealed([x], () => x.add(1)),
        x,
      ),
    ).toBe(2);
  });
});
