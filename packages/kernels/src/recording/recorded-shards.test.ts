import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import type { LocalShards, ShardLayout, Recording } from '@acc/contract';
import { liveTensors } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { localShards } from '../shards/local-shards.js';
import { registerAccBackend } from '../register-backend.js';
import { StepRecorder } from './recorder.js';

const ROWS: ShardLayout = { kind: 'rows', outer: 1, length: 2 };
const SUM: ShardLayout = { kind: 'sum', scale: 1 };

let backend: AccBackend;
let recorder: StepRecorder;
let shards: LocalShards;
beforeAll(async () => {
  registerAccBackend();
  await tf.setBackend('acc');
  backend = tf.backend() as AccBackend;
  recorder = new StepRecorder(backend);
  const join = () => {
    throw new Error('a recording needs no whole tensor');
  };
  shards = localShards(backend, { count: 2, index: 0, join });
});

/** A tensor of this process's shard, which stays its owner's. */
function held(shard: tf.Tensor, layout: ShardLayout): tf.Tensor {
  backend.incRef(shard.dataId);
  const { dataId, dtype, shape } = shard;
  const full = layout.kind === 'rows' ? [2 * shape[0]!, ...shape.slice(1)] : shape;
  const info = shards.hold({ shape: full, dtype, layout }, { dataId, dtype, shape });
  return tf.engine().makeTensorFromTensorInfo(info, backend);
}

/** This process's shard as a tensor. */
function pieceOf(x: tf.Tensor): tf.Tensor {
  const { shard } = shards.of(x)!;
  backend.incRef(shard.dataId);
  return tf.engine().makeTensorFromTensorInfo(shard, backend);
}

function sealed(args: readonly tf.Tensor[], step: () => tf.Tensor): Recording {
  const { recording } = recorder.record(args, () => [tf.tidy(step)]);
  if (typeof recording === 'string') throw new Error(recording);
  recording.seal(false);
  return recording;
}

function replayed<T>(recording: Recording, args: readonly tf.Tensor[], use: (result: tf.Tensor) => T): T {
  let found!: T;
  tf.tidy(() => {
    const results = recording.replay(args);
    if (results instanceof Error) throw results;
    found = use(results[0]!);
  });
  return found;
}

describe('a recording of tensors in pieces', () => {
  it('takes and returns pieces, and gives them to actions', () => {
    const seen: unknown[] = [];
    const step = (x: tf.Tensor) => {
      const doubled = held(tf.mul(pieceOf(x), 2), ROWS);
      const [sum] = recorder.runAction([doubled], ([given]) => {
        seen.push([given!.shape, shards.layoutOf(given!), Array.from(pieceOf(given!).dataSync())]);
        return [held(tf.add(pieceOf(given!), 1), SUM)];
      });
      return held(tf.mul(pieceOf(sum!), 10), ROWS);
    };
    const [first, second] = [tf.tensor1d([1, 2]), tf.tensor1d([3, 4])];
    const [x, other] = [held(first, ROWS), held(second, ROWS)];
    const recording = sealed([x], () => step(x));
    const result = replayed(recording, [other], (given) => ({
      ...{ shape: given.shape, layout: shards.layoutOf(given) },
      own: Array.from(pieceOf(given).dataSync()),
    }));
    expect(result).toEqual({ shape: [4], layout: ROWS, own: [70, 90] });
    expect(seen).toEqual([
      [[4], ROWS, [2, 4]],
      [[4], ROWS, [6, 8]],
    ]);
    recording.dispose();
  });

  it('follows the piece of a variable', () => {
    const own = tf.variable(tf.tensor1d([1, 2]));
    const info = () => ({ dataId: own.dataId, dtype: own.dtype, shape: own.shape });
    let isFreed = false;
    const owner = { shard: info, isFreed: () => isFreed };
    const followed = shards.follow({ shape: [4], dtype: 'float32', layout: ROWS }, owner);
    const full = tf.engine().makeTensorFromTensorInfo(followed, backend);
    const cut = tf.variable(tf.zeros([4]));
    tf.Variable.prototype.assign.call(cut, full);
    delete tf.engine().registeredVariables[own.name];
    const step = () => tf.mul(pieceOf(cut), 3);
    const recording = sealed([], step);
    own.assign(tf.tensor1d([5, 6]));
    expect(replayed(recording, [], (given) => Array.from(given.dataSync()))).toEqual([15, 18]);
    recording.dispose();
    isFreed = true;
    const x = tf.scalar(4);
    const after = sealed([x], () => tf.mul(x, x));
    expect(replayed(after, [x], (given) => given.dataSync()[0])).toBe(16);
    after.dispose();
    cut.dispose();
  });

  it('refuses other pieces of an action than in the recording', () => {
    let layout: ShardLayout = SUM;
    const x = tf.tensor1d([1, 2]);
    const recording = sealed([x], () => {
      const [given] = recorder.runAction([x], ([own]) => [held(tf.add(own!, 1), layout)]);
      return tf.mul(pieceOf(given!), 2);
    });
    layout = ROWS;
    expect(() => replayed(recording, [x], () => 0)).toThrowError(
      expect.objectContaining({
        code: 'ACC_COMPILE_CHANGED',
        message: expect.stringMatching(
          /\[4\], cut in 2 over ranks, but .*\[2\] as a sum over ranks/,
        ) as string,
      }),
    );
    layout = SUM;
    expect(replayed(recording, [x], (given) => Array.from(given.dataSync()))).toEqual([4, 6]);
    recording.dispose();
  });

  it.each<[string, ShardLayout | undefined, ShardLayout | undefined]>([
    ['whole instead of a sum', SUM, undefined],
    ['a sum instead of whole', undefined, SUM],
    ['whole instead of rows', ROWS, undefined],
    ['other rows', ROWS, { ...ROWS, outer: 2 } as ShardLayout],
  ])('does not fit an argument that is %s', (_, recorded, now) => {
    const values = () => tf.tensor1d([1, 2]);
    const inForm = (layout: ShardLayout | undefined) => (layout ? held(values(), layout) : values());
    const own = (x: tf.Tensor) => (shards.layoutOf(x) ? pieceOf(x) : x);
    const x = inForm(recorded);
    const recording = sealed([x], () => tf.mul(own(x), 2));
    expect(recording.fits([inForm(recorded)])).toBe(true);
    expect(recording.fits([inForm(now)])).toBe(false);
    recording.dispose();
  });
});

it('frees what an action passes on before the replay ends', () => {
  const countedBy = (isPassing: boolean) => {
    const counts: number[] = [];
    const add = (given: tf.Tensor) =>
      recorder.runAction([given], ([own]) => [tf.add(own!, 1)], { isPassing })[0]!;
    const x = tf.tensor1d([1, 2]);
    const recording = sealed([x], () => {
      let y: tf.Tensor = x;
      for (let i = 0; i < 4; i++) y = add(tf.mul(y, 2));
      recorder.runAction([], () => {
        counts.push(liveTensors());
        return [];
      });
      return y;
    });
    const before = liveTensors();
    expect(replayed(recording, [x], (given) => Array.from(given.dataSync()))).toEqual([31, 47]);
    recording.dispose();
    return counts[1]! - before;
  };
  const all = countedBy(false);
  // Four inputs and four results.
  expect(all - countedBy(true)).toBe(8);
});
