// Models that are loaded and dispatched, alone and prepared by each strategy, beside the same models in memory.
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs';
import {
  Accelerator,
  dispatchModel,
  initEmptyWeights,
  isAccError,
  loadCheckpointAndDispatch,
  type AcceleratorOptions,
} from '@acc/core';
import { memoryStats, releaseCachedMemory, resetPeakMemory } from '@acc/native';
import { disposeOptimizers } from '../../dispose-optimizers.js';

const WAYS = {
  ddp: {},
  stage3: { strategy: 'fsdp', fsdp: { bucketBytes: 1 } },
} satisfies Record<string, AcceleratorOptions>;
export type Way = keyof typeof WAYS;

export interface Trained {
  readonly losses: number[];
  readonly weights: number[][];
}

export interface Result {
  readonly saved: number[][];
  /** Weights that were loaded: before prepare, into a dispatched model, from one file, and after prepare. */
  readonly loaded: Record<string, number[][]>;
  readonly trained: Record<Way, { whole: Trained; dispatched: Trained }>;
  /** Losses of a step that is compiled. */
  readonly compiled: { readonly whole: number[]; readonly dispatched: number[] };
  /** Stage 3 loads: bytes at the peak and at the end above those before, and those of the largest weight. */
  readonly loadBytes: { readonly peak: number; readonly shards: number; readonly largest: number };
  readonly codes: Record<string, string>;
  readonly differences: unknown;
}

const WIDTH = 96;
const LAYER_BYTES = 4 * (WIDTH * WIDTH + WIDTH);

/** Where a run has its files. */
interface Place {
  readonly root: string;
  /** Of the saved model. */
  readonly folder: string;
  /** The options of a dispatch. */
  readonly dispatched: { readonly maxMemory: number; readonly offloadFolder: string };
}

const createModel = (layers = 5, units = WIDTH) =>
  tf.sequential({
    layers: Array.from({ length: layers }, (_, i) =>
      tf.layers.dense({
        name: `layer${i}`,
        units,
        inputShape: [units],
        activation: 'tanh',
        kernelInitializer: tf.initializers.glorotUniform({ seed: i + 1 }),
        biasInitializer: tf.initializers.randomNormal({ seed: i + 2 }),
      }),
    ),
  });
const variablesOf = (model: tf.LayersModel) => model.weights.map((weight) => weight.read() as tf.Variable);
const weightsOf = (model: tf.LayersModel) => variablesOf(model).map((weight) => [...weight.dataSync()]);

/** Gradients are clipped and accumulated, so that more than the optimizer meets offloaded weights. */
async function train({ dispatched }: Place, way: Way, isDispatched: boolean): Promise<Trained> {
  tf.disposeVariables();
  const accelerator = await Accelerator.create({ ...WAYS[way], gradientClipping: { norm: 0.5 } });
  const model = createModel();
  if (isDispatched) await dispatchModel(model, dispatched);
  const optimizer = tf.train.adam(0.01);
  accelerator.prepare(model, optimizer);
  const losses: number[] = [];
  for (let step = 0; step < 3; step++) {
    const x = tf.sin(tf.range(0, 4 * WIDTH).add(100 * accelerator.processIndex + step)).reshape([4, WIDTH]);
    const loss = optimizer.minimize(
      () => tf.square(model.predict(x) as tf.Tensor).mean() as tf.Scalar,
      true,
      variablesOf(model),
    );
    losses.push(loss!.dataSync()[0]!);
    tf.dispose([x, loss!]);
  }
  const weights = weightsOf(model);
  accelerator.freeMemory(model, optimizer);
  return { losses, weights };
}

async function compile({ dispatched }: Place, isDispatched: boolean): Promise<number[]> {
  tf.disposeVariables();
  const accelerator = await Accelerator.create();
  const model = createModel();
  if (isDispatched) await dispatchModel(model, dispatched);
  const optimizer = tf.train.sgd(0.1);
  accelerator.prepare(model, optimizer);
  const loss = (x: tf.Tensor) => tf.square(model.predict(x) as tf.Tensor).mean() as tf.Scalar;
  const step = accelerator.compile((x: tf.Tensor) =>
    optimizer.minimize(() => loss(x), true, variablesOf(model))!,
  );
  const x = tf.ones([4, WIDTH]);
  const losses = [1, 2, 3, 4, 5].map(() => tf.tidy(() => step(x).dataSync()[0]!));
  x.dispose();
  accelerator.freeMemory(model, optimizer);
  disposeOptimizers(optimizer);
  return losses;
}

async function load({ folder, dispatched }: Place): Promise<Pick<Result, 'saved' | 'loaded' | 'loadBytes'>> {
  let accelerator = await Accelerator.create();
  const model = createModel();
  await accelerator.saveModel(model, folder);
  const saved = weightsOf(model);
  const loaded: Record<string, number[][]> = {};
  const empty = await loadCheckpointAndDispatch(initEmptyWeights(createModel), folder);
  loaded['into an empty model'] = weightsOf(empty);
  const offloaded = await loadCheckpointAndDispatch(initEmptyWeights(createModel), folder, dispatched);
  loaded['and dispatched'] = weightsOf(offloaded);
  tf.tidy(() => variablesOf(offloaded)[9]!.assign(tf.ones([WIDTH])));
  await loadCheckpointAndDispatch(offloaded, join(folder, 'model.safetensors'));
  loaded['again, from one file'] = weightsOf(offloaded);
  accelerator.prepare(empty, offloaded);
  tf.tidy(() => variablesOf(empty)[0]!.assign(tf.zeros([WIDTH, WIDTH])));
  await loadCheckpointAndDispatch(empty, folder);
  loaded['after prepare'] = weightsOf(empty);
  loaded['dispatched before prepare'] = weightsOf(offloaded);
  accelerator.freeMemory(model, empty, offloaded);

  tf.disposeVariables();
  accelerator = await Accelerator.create(WAYS.stage3);
  const sharded = initEmptyWeights(createModel);
  releaseCachedMemory();
  const start = memoryStats().allocatedBytes;
  accelerator.prepare(sharded);
  resetPeakMemory();
  await loadCheckpointAndDispatch(sharded, folder);
  const { peakAllocatedBytes, allocatedBytes } = memoryStats();
  const largest = 4 * WIDTH * WIDTH;
  const loadBytes = { peak: peakAllocatedBytes - start, shards: allocatedBytes - start, largest };
  loaded['by stage 3, after prepare'] = weightsOf(sharded);
  accelerator.freeMemory(sharded);
  return { saved, loaded, loadBytes };
}

async function codeOf(run: () => unknown): Promise<string> {
  try {
    await run();
  } catch (error) {
    return isAccError(error) ? error.code : String(error);
  }
  return 'none';
}

/** The last rank alone makes them. */
async function mistakesOfOneRank({ root, folder, dispatched }: Place): Promise<Record<string, string>> {
  tf.disposeVariables();
  const accelerator = await Accelerator.create();
  const model = createModel();
  accelerator.prepare(model);
  const isLast = accelerator.processIndex === accelerator.numProcesses - 1;
  const codes = {
    'a folder that one rank lacks': await codeOf(() =>
      loadCheckpointAndDispatch(model, isLast ? join(root, 'nowhere') : folder, dispatched),
    ),
    'an option of one rank': await codeOf(() =>
      dispatchModel(model, isLast ? { ...dispatched, maxMemory: -1 } : dispatched),
    ),
    // Nothing was dispatched on any rank.
    'dispatch afterwards': await codeOf(() => dispatchModel(model, dispatched)),
  };
  accelerator.freeMemory(model);
  return codes;
}

async function mistakes(place: Place): Promise<Pick<Result, 'codes' | 'differences'>> {
  tf.disposeVariables();
  const accelerator = await Accelerator.create(WAYS.stage3);
  const model = createModel();
  const { root, folder, dispatched } = place;
  let differences: unknown;
  const codes: Record<string, string> = {
    'a folder without weights': await codeOf(() => loadCheckpointAndDispatch(model, root)),
    'a folder that is missing': await codeOf(() => loadCheckpointAndDispatch(model, join(root, 'nowhere'))),
    'no folder': await codeOf(() => loadCheckpointAndDispatch(model, undefined as never)),
    'an option that is misspelled': await codeOf(() => dispatchModel(model, { maxMemmory: 1 } as never)),
    'a negative number': await codeOf(() => loadCheckpointAndDispatch(model, folder, { maxMemory: -1 })),
    'no offloadFolder': await codeOf(() => dispatchModel(model, { maxMemory: 2 * LAYER_BYTES })),
    'an empty model': await codeOf(() => dispatchModel(initEmptyWeights(createModel), dispatched)),
    'another model': await codeOf(async () => {
      const other = tf.sequential({ layers: [...createModel(4).layers] });
      other.add(tf.layers.dense({ name: 'layer5', units: 3 }));
      const [kernel] = variablesOf(createModel(1, 7));
      try {
        await loadCheckpointAndDispatch(other, folder);
      } catch (error) {
        if (isAccError(error)) differences = error.details;
        throw error;
      } finally {
        kernel!.dispose();
      }
    }),
    'another width': await codeOf(() => loadCheckpointAndDispatch(createModel(5, 8), folder)),
  };
  accelerator.prepare(model);
  if (accelerator.numProcesses > 1) {
    codes['dispatch of sharded weights'] = await codeOf(() => dispatchModel(model, dispatched));
    codes['load and dispatch'] = await codeOf(() => loadCheckpointAndDispatch(model, folder, dispatched));
  }
  codes['an option that is misspelled, of sharded weights'] = await codeOf(() =>
    loadCheckpointAndDispatch(model, folder, { maxMemmory: 1 } as never),
  );
  accelerator.freeMemory(model);
  Object.assign(codes, await mistakesOfOneRank(place));
  return { codes, differences };
}

interface Args {
  readonly root: string;
  readonly offloadFolder: string;
}

export default async function dispatch({ root, offloadFolder }: Args): Promise<Result> {
  const dispatched = { maxMemory: 2 * LAYER_BYTES, offloadFolder };
  const place: Place = { root, folder: join(root, 'model'), dispatched };
  const loadedFirst = await load(place);
  const trained = {
    ddp: { whole: await train(place, 'ddp', false), dispatched: await train(place, 'ddp', true) },
    stage3: { whole: await train(place, 'stage3', false), dispatched: await train(place, 'stage3', true) },
  };
  const compiled = { whole: await compile(place, false), dispatched: await compile(place, true) };
  const result = { ...loadedFirst, trained, compiled, ...(await mistakes(place)) };
  tf.disposeVariables();
  return result;
}
