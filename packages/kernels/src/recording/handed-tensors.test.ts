import * as tf from '@tensorflow/tfjs';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import type { DeferredTensor, Recording } from '@acc/contract';
import { engineInternals } from '@acc/tfjs-internals';
import { deferOn } from '../acc-layer/deferred.js';
import type { AccBackend } from '../backend.js';
import { registerAccBackend } from '../register-backend.js';
import { StepRecorder } from './recorder.js';

let recorder: StepRecorder;
let loads = 0;
let made: DeferredTensor[] = [];
beforeAll(() => registerAccBackend());
beforeEach(async () => {
  await tf.setBackend('acc');
  recorder = new StepRecorder(tf.backend() as AccBackend);
  loads = 0;
  made = [];
});

/** A tensor of `[3]` whose values are those of `held`, three times. */
function deferred(held: tf.Tensor): tf.Tensor {
  const defer = deferOn(tf.backend() as AccBackend, () => recorder.records);
  const one = defer({ shape: [3], dtype: 'float32', held }, () => {
    loads++;
    tf.tidy(() => one.fill(tf.tile(one.held()!, [3])));
  });
  made.push(one);
  return one.tensor;
}

function record(x: tf.Tensor, step: () => readonly tf.Tensor[]): Recording | string {
  return engineInternals().tidy('test', () => recorder.record([x], step).recording);
}

it('a deferred result of an action goes to later actions and to the caller without values', () => {
  const seen: (number | undefined)[] = [];
  const recording = record(tf.tensor1d([1]), () => {
    const [x] = recorder.runAction([], () => [tf.tensor1d([made.length + 1])]);
    const [whole, plain] = recorder.runAction([x!.mul(10)], ([given]) => [
      deferred(given!.clone()),
      given!.add(1),
    ]);
    const next = plain!.mul(2);
    recorder.runAction([next, whole!], ([sum, same]) => {
      expect(same!.shape).toEqual([3]);
      seen.push(
        sum!.dataSync()[0],
        made
          .find(({ tensor }) => tensor === same)!
          .held()!
          .dataSync()[0],
      );
      return [];
    });
    return [next, whole!];
  }) as Recording;
  recording.seal(false);
  expect(loads).toBe(0);
  for (const number of [2, 3]) {
    tf.tidy(() => {
      const [next, whole] = recording.replay([tf.tensor1d([1])]) as tf.Tensor[];
      expect(loads).toBe(number - 2);
      expect([...next!.dataSync(), ...whole!.dataSync()]).toEqual([
        2 * (10 * number + 1),
        ...Array<number>(3).fill(10 * number),
      ]);
    });
  }
  expect(seen).toEqual([22, 10, 42, 20, 62, 30]);
  recording.dispose();
});

it.each<[string, (full: tf.Tensor) => tf.Tensor, RegExp]>([
  ['reads one', (full) => full.mul(2), /sharded gradient/],
  ['reshapes one', (full) => full.reshape([3, 1]), /reshapes a sharded gradient/],
])('a step that %s is not replayed', (_, use, reason) => {
  const recording = record(tf.tensor1d([1]), () => {
    const [whole] = recorder.runAction([], () => [deferred(tf.tensor1d([4]))]);
    const used = use(whole!);
    recorder.runAction([used], () => []);
    return [];
  });
  expect(recording).toMatch(reason);
});

it('the element type of deferred values is known without them', () => {
  const backend = tf.backend() as AccBackend;
  const defer = deferOn(backend, () => false);
  const like = tf.tensor1d([1]);
  const { tensor } = defer({ shape: [3], dtype: 'float32', like }, () => loads++);
  expect([backend.nativeDtypeOf(tensor), loads]).toEqual(['float32', 0]);
  tf.dispose([tensor, like]);
});
