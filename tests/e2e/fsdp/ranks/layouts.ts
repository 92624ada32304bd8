// Trains one network on four ranks in each layout of the mesh, and in mixed precision; counts what ranks send.
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs';
import { Accelerator, isAccError, type AcceleratorOptions } from '@acc/core';
import { disposeOptimizers } from '../../dispose-optimizers.js';

const WAYS = {
  ddp: {},
  stage1: { strategy: 'fsdp', fsdp: { stage: 1 } },
  stage2: { strategy: 'fsdp', fsdp: { stage: 2 } },
  stage3: { strategy: 'fsdp', fsdp: { bucketBytes: 1 } },
  hosts: { strategy: 'fsdp', fsdp: { stage: 'HYBRID_SHARD', bucketBytes: 1 } },
  mesh: { strategy: 'fsdp', fsdp: { bucketBytes: 1 }, mesh: { data: 2, fsdp: -1 } },
  mesh1: { strategy: 'fsdp', fsdp: { stage: 1 }, mesh: { data: 2, fsdp: 2 } },
  ofMesh: { fsdp: { bucketBytes: 1 }, mesh: { data: 2, fsdp: -1 } },
  ofAxis: { fsdp: { bucketBytes: 1 }, mesh: { fsdp: 4 } },
  replicas: { strategy: 'fsdp', fsdp: { stage: 'HYBRID_SHARD' }, mesh: { data: 4, fsdp: 1 } },
} satisfies Record<string, AcceleratorOptions>;
export type Way = keyof typeof WAYS;

export interface Trained {
  /** Whole, after each step. */
  readonly weights: number[][];
  /** In one step, by axis. */
  readonly sent: Record<string, number>;
  readonly coordinates: Record<string, number>;
  readonly leaked: number;
}

export interface Result {
  readonly trained: Record<Way, Trained>;
  /** By the way that saved, then the way that loaded: weights at the save, and after two more steps. */
  readonly resumed: Record<string, Record<string, number[][]>>;
  readonly precise: Precise;
  readonly buffers: number[];
  readonly frozen: Frozen;
  readonly codes: Record<string, string>;
}

const ROWS = 8;
const WIDTH = 48;
const hosts = { LOCAL_RANK: String(Number(process.env['RANK']) % 2), LOCAL_WORLD_SIZE: '2' };
const onOneHost = {
  LOCAL_RANK: process.env['LOCAL_RANK'],
  LOCAL_WORLD_SIZE: process.env['LOCAL_WORLD_SIZE'],
};

const values = (shape: number[], seed: number): tf.Tensor =>
  tf.tidy(() =>
    tf.range(0, tf.util.sizeFromShape(shape)).add(seed).sin().reshape(shape).div(Math.sqrt(shape[0]!)),
  );

async function start(options: AcceleratorOptions, isSpread: boolean) {
  // Two ranks that are told to be on one host, and two on another.
  Object.assign(process.env, isSpread ? hosts : onOneHost);
  const accelerator = await Accelerator.create(options);
  const { processIndex: rank, numProcesses: size } = accelerator;
  const matrix = (rows: number, columns: number, seed: number, name: string) =>
    tf.variable(values([rows, columns], seed) as tf.Tensor2D, true, name);
  const w1 = matrix(WIDTH, WIDTH, rank, 'w1');
  const w2 = matrix(WIDTH, WIDTH, 2, 'w2');
  const bias = tf.variable(values([WIDTH], 1) as tf.Tensor1D, true, 'bias');
  // The last units stay in memory from forward to backward. They are small here.
  const w3 = matrix(WIDTH, 3, 4, 'w3');
  const w4 = matrix(3, 2, 5, 'w4');
  const unused = tf.variable(values([3], 3), true, 'unused');
  const variables = [w1, w2, bias, w3, w4, unused];
  const optimizer = tf.train.adam(0.01);
  accelerator.prepare(variables, optimizer);
  const step = (index: number) =>
    tf.tidy(() => {
      const rows = ROWS / size;
      const x = values([ROWS, WIDTH], 100 * index).slice([rank * rows], [rows]) as tf.Tensor2D;
      const hidden = () => tf.fused.matMul({ a: tf.tanh(tf.matMul(x, w1)) as tf.Tensor2D, b: w2, bias });
      const loss = () =>
        tf
          .matMul(tf.matMul(tf.tanh(hidden()), w3), w4)
          .sub(1)
          .square()
          .mean() as tf.Scalar;
      accelerator.accumulate(() => optimizer.minimize(loss, false, variables));
    });
  const read = () => variables.flatMap((variable) => [...variable.dataSync()]);
  const end = () => {
    accelerator.freeMemory(...variables, optimizer);
  };
  return { accelerator, step, read, end };
}

async function train(way: Way): Promise<Trained> {
  const options = { ...WAYS[way], gradientClipping: { norm: 0.5 } };
  const { accelerator, step, read, end } = await start(options, way === 'hosts');
  const weights: number[][] = [];
  step(0);
  weights.push(read());
  const before = tf.memory().numTensors;
  step(1);
  accelerator.communication();
  step(2);
  const sent = accelerator.communication();
  weights.push(read());
  step(3);
  weights.push(read());
  const leaked = tf.memory().numTensors - before;
  const coordinates = { ...accelerator.mesh.coordinates };
  end();
  return {
    weights,
    leaked,
    coordinates,
    sent: Object.fromEntries(Object.entries(sent).map(([axis, { bytes }]) => [axis, bytes])),
  };
}

/** Saves by each way, and goes on by each way. */
async function resume(folder: string): Promise<Result['resumed']> {
  const ways = { ddp: WAYS.ddp, mesh: WAYS.mesh, stage3: WAYS.stage3 };
  const accumulating = { gradientAccumulationSteps: 2 };
  for (const [way, options] of Object.entries(ways)) {
    const { accelerator, step, end } = await start({ ...options, ...accumulating }, false);
    for (let i = 0; i < 4; i++) step(i);
    await accelerator.saveState(join(folder, way));
    end();
  }
  const resumed: Result['resumed'] = {};
  for (const from of Object.keys(ways)) {
    resumed[from] = {};
    for (const [way, options] of Object.entries(ways)) {
      const { accelerator, step, read, end } = await start({ ...options, ...accumulating }, false);
      await accelerator.loadState(join(folder, from));
      const saved = read();
      for (let i = 4; i < 6; i++) step(i);
      resumed[from][way] = [saved, read()];
      end();
    }
  }
  return resumed;
}

export interface Precise {
  /** By the dtypes: weights after each step. */
  readonly ways: Record<string, number[][]>;
  /** Of one process, in which operators see parameters rounded to bfloat16, and not rounded. */
  readonly rounded: number[][];
  readonly plain: number[][];
  /** By the dtypes: after a loss that throws, and after gradients that no optimizer asks for. */
  readonly later: Record<string, number[][]>;
}

function rounded(x: tf.Tensor): tf.Tensor {
  const bits = new Uint32Array(Float32Array.from(x.dataSync()).buffer);
  const nearest = bits.map((one) => (one + 0x7fff + ((one >>> 16) & 1)) & 0xffff0000);
  return tf.tensor(new Float32Array(nearest.buffer), x.shape);
}

/**
 * Operators that compute in float32 in every precision. Parameters begin, and batches are, with so
 * few bits that all products and sums are exact: a difference of one bit could round a parameter to
 * another number.
 */
const lossOf = (x: tf.Tensor, w: tf.Tensor, b: tf.Tensor) => tf.mul(tf.mul(w, b), x).mean() as tf.Scalar;
const COLUMNS = 32;
const coarse = (x: tf.Tensor) => x.mul(64).round().div(64);
const xOf = (index: number) => coarse(values([ROWS, COLUMNS], 100 * index));
const START = () => [1, 2].map((seed) => coarse(values([COLUMNS], seed)).add(1));

async function precise(): Promise<Precise> {
  const ways: Record<string, AcceleratorOptions['fsdp']> = {
    param: { bucketBytes: 1, mixedPrecision: { param: 'bf16' } },
    param2: { stage: 2, mixedPrecision: { param: 'bf16', reduce: 'float32' } },
    reduce: { mixedPrecision: { reduce: 'bf16' } },
    whole: { stage: 'NO_SHARD', mixedPrecision: { reduce: 'fp16' } },
  };
  const result: Precise = { ways: {}, rounded: [], plain: [], later: {} };
  for (const [way, fsdp] of Object.entries(ways)) {
    const accelerator = await Accelerator.create({ strategy: 'fsdp', fsdp: fsdp! });
    const { processIndex: rank, numProcesses: size } = accelerator;
    const [w, b] = START().map((start, i) => tf.variable(start, true, `${way}${i}`)) as [
      tf.Variable,
      tf.Variable,
    ];
    const optimizer = tf.train.sgd(16);
    accelerator.prepare([w, b], optimizer);
    result.ways[way] = [];
    for (let index = 0; index < 4; index++) {
      tf.tidy(() => {
        const x = xOf(index).slice([(rank * ROWS) / size], [ROWS / size]);
        optimizer.minimize(() => lossOf(x, w, b), false, [w, b]);
      });
      result.ways[way].push([...w.dataSync(), ...b.dataSync()]);
    }
    const failing = () => {
      lossOf(xOf(0), w, b);
      throw new Error('a mistake in the loss');
    };
    const disturbances = [
      () => void optimizer.minimize(failing, false, [w, b]),
      () => void tf.grad((x) => lossOf(x, w, b))(xOf(0)),
    ];
    result.later[way] = disturbances.map((disturb) => {
      try {
        tf.tidy(disturb);
      } catch {
        // Reads must be right nevertheless.
      }
      return [...w.mul(1).dataSync(), ...b.dataSync()];
    });
    accelerator.freeMemory(w, b, optimizer);
    disposeOptimizers(optimizer);
  }
  for (const round of [rounded, (x: tf.Tensor) => x]) {
    let [w, b] = START() as [tf.Tensor, tf.Tensor];
    for (let index = 0; index < 4; index++) {
      const x = xOf(index);
      const grads = tf.grads((given: tf.Tensor, other: tf.Tensor) => lossOf(x, given, other));
      const [dw, db] = grads([round(w), round(b)]) as [tf.Tensor, tf.Tensor];
      [w, b] = [w.sub(dw.mul(16)), b.sub(db.mul(16))];
      result[round === rounded ? 'rounded' : 'plain'].push([...w.dataSync(), ...b.dataSync()]);
    }
  }
  return result;
}

/** The moving statistics of a model after a fit, which are rounded to bfloat16. */
async function buffers(): Promise<number[]> {
  const accelerator = await Accelerator.create({
    strategy: 'fsdp',
    fsdp: { mixedPrecision: { buffer: 'bf16' } },
  });
  const model = tf.sequential({ layers: [tf.layers.batchNormalization({ inputShape: [5] })] });
  model.compile({ optimizer: tf.train.sgd(0.01), loss: 'meanSquaredError' });
  accelerator.prepare(model);
  const x = values([ROWS, 5], 7).add(0.3);
  await model.fit(x, x, { epochs: 2, batchSize: 1, shuffle: false, verbose: 0 });
  const statistics = model.getWeights().slice(2);
  const found = statistics.flatMap((statistic) => [...statistic.dataSync()]);
  accelerator.freeMemory(model);
  disposeOptimizers(model.optimizer);
  return found;
}

interface Frozen {
  /** The bytes that prepare leaves allocated. */
  readonly bytes: number;
  readonly before: number[];
  readonly weights: number[];
  /** After a step. */
  readonly predicted: number[];
  /** Of the same weights, by plain tfjs. */
  readonly expected: number[];
}

async function frozen(): Promise<Frozen> {
  const accelerator = await Accelerator.create({ strategy: 'fsdp' });
  const allocated = () => (tf.memory() as unknown as { allocatedBytes: number }).allocatedBytes;
  const empty = allocated();
  const dense = (units: number, seed: number, options: object) =>
    tf.layers.dense({
      units,
      useBias: false,
      kernelInitializer: tf.initializers.glorotUniform({ seed }),
      ...options,
    });
  const model = tf.sequential({
    layers: [dense(128, 1, { inputShape: [128], trainable: false }), dense(1, 2, {})],
  });
  const before = [...model.layers[0]!.getWeights()[0]!.dataSync()];
  model.compile({ optimizer: tf.train.sgd(0.1), loss: 'meanSquaredError' });
  accelerator.prepare(model);
  const bytes = allocated() - empty;
  const x = values([ROWS, 128], 5) as tf.Tensor2D;
  await model.fit(x, x.sum(1, true), { epochs: 1, batchSize: 2, shuffle: false, verbose: 0 });
  // Trained weights come first.
  const [last, kernel] = model.getWeights() as [tf.Tensor2D, tf.Tensor2D];
  const result = {
    bytes,
    before,
    weights: [...kernel.dataSync()],
    predicted: [...(model.predict(x) as tf.Tensor).dataSync()],
    expected: [
      ...x
        .matMul(tf.tensor2d(before, [128, 128]))
        .matMul(last.clone())
        .dataSync(),
    ],
  };
  accelerator.freeMemory(model);
  disposeOptimizers(model.optimizer);
  return result;
}

async function codeOf(options: AcceleratorOptions, isSpread = false): Promise<string> {
  Object.assign(process.env, isSpread ? hosts : onOneHost);
  if (isSpread && process.env['RANK'] === '0') process.env['LOCAL_RANK'] = '1';
  try {
    const accelerator = await Accelerator.create(options);
    accelerator.freeMemory();
    return 'none';
  } catch (error) {
    return isAccError(error) ? error.code : String(error);
  } finally {
    Object.assign(process.env, onOneHost);
  }
}

export default async function layouts(folder: string): Promise<Result> {
  const trained = {} as Record<Way, Trained>;
  for (const way of Object.keys(WAYS) as Way[]) trained[way] = await train(way);
  const sharded = { strategy: 'fsdp' } as const;
  const codes = {
    size: await codeOf({ ...sharded, mesh: { fsdp: 3 } }),
    axis: await codeOf({ ...sharded, mesh: { data: 4 } }),
    unused: await codeOf({ strategy: 'ddp', mesh: { data: 2, fsdp: 2 } }),
    alone: await codeOf({ strategy: 'single', mesh: { fsdp: 4 } }),
    whole: await codeOf({ fsdp: { stage: 'NO_SHARD' }, mesh: { fsdp: 4 } }),
    unknown: await codeOf({ mesh: { fdsp: 2 } as never }),
    precision: await codeOf({
      ...sharded,
      mixedPrecision: 'fp16',
      fsdp: { mixedPrecision: { param: 'bf16' } },
    }),
    hosts: await codeOf({ ...sharded, fsdp: { stage: 'HYBRID_SHARD' } }, true),
    differ: await codeOf({ ...sharded, mesh: { fsdp: process.env['RANK'] === '0' ? 4 : 2 } }),
  };
  const resumed = await resume(folder);
  const result = {
    trained,
    resumed,
    precise: await precise(),
    buffers: await buffers(),
    frozen: await frozen(),
    codes,
  };
  tf.disposeVariables();
  return result;
}
