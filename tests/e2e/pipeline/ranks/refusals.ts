// What a pipeline refuses. Reports the code of each error.
import * as tf from '@tensorflow/tfjs';
import type { Collective, Plugin } from '@acc/contract';
import { Accelerator, adafactor, type AcceleratorOptions, type PipelineOptions } from '@acc/core';
import { reportResult } from '@acc/testkit';
import { meanSquares, skipping, SKIPPING_STAGES, xsOf, ysOf } from './models.js';

const codes: Record<string, string> = {};

function refused(name: string, act: () => unknown): void {
  try {
    act();
    codes[name] = 'none';
  } catch (error) {
    codes[name] = (error as { code?: string }).code ?? String(error);
  }
}

async function refusedAtCreate(name: string, options: AcceleratorOptions): Promise<void> {
  try {
    (await Accelerator.create(options)).freeMemory();
    codes[name] = 'none';
  } catch (error) {
    codes[name] = (error as { code?: string }).code ?? String(error);
  }
}

await refusedAtCreate('weights in files', {
  strategy: 'fsdp',
  fsdp: { cpuOffload: true },
  mesh: { pipeline: 2, fsdp: 1 },
});
const sharded = await Accelerator.create({ strategy: 'fsdp', mesh: { pipeline: 2, fsdp: 1 } });
refused('compile of shards', () => sharded.compile(() => tf.scalar(1)));
sharded.freeMemory();
await refusedAtCreate('a hook with state', { ddp: { commHook: 'powerSgd' }, mesh: { pipeline: 2 } });
await refusedAtCreate('gradients at apply', { ddp: { syncAt: 'apply' }, mesh: { pipeline: 2 } });
await refusedAtCreate('an unknown option', { mesh: { pipeline: 2 }, pipeline: { stage: [] } as never });

let pipe!: Collective;
const asks: Plugin = { name: 'asks', attach: ({ mesh }) => void (pipe = mesh.along('pipeline')) };
const accelerator = await Accelerator.create({ engine: 'acc', mesh: { pipeline: 2 }, plugins: [asks] });
const slot = { slot: 'values' };
if (pipe.rank === 0) {
  for (const values of [
    [1, 2],
    [3, 4],
  ])
    pipe.send(tf.tensor1d(values), 1, slot);
  refused('another shape in a slot', () => pipe.send(tf.ones([3]), 1, slot));
} else codes.received = [...pipe.recv(0, slot).dataSync(), ...pipe.recv(0, slot).dataSync()].join();
const model = skipping();
const steps = (options: PipelineOptions, of: object = model) =>
  accelerator.pipelined(of, meanSquares, options);
refused('not prepared', () => steps({}));
accelerator.prepare(model);
const stages = SKIPPING_STAGES[2]!;
refused('not a model', () => steps({}, {}));
refused('an unknown layer', () => steps({ stages: [['a', 'B'], stages[1]!] }));
refused('a layer twice', () => steps({ stages: [['a', ...stages[0]!], stages[1]!] }));
refused('a layer missing', () => steps({ stages: [['a', 'b'], stages[1]!] }));
refused('another order', () => steps({ stages: [...stages].reverse() }));
refused('an empty stage', () => steps({ stages: [stages.flat(), []] }));
refused('a rank without weights', () =>
  steps({
    stages: [
      ['a', 'b', 'c', 'd', 'e', 'out'],
      ['sum', 'both'],
    ],
  }),
);
refused('three stages', () => steps({ stages: SKIPPING_STAGES[3]! }));
refused('stages for 1f1b', () => steps({ stages: SKIPPING_STAGES[4]! }));
refused('uneven groups', () => {
  steps({ schedule: 'interleaved', microBatches: 3, stages: SKIPPING_STAGES[4]! });
});
refused('ranks with other schedules', () => {
  steps({ stages, schedule: accelerator.processIndex === 0 ? 'gpipe' : '1f1b' });
});
refused('an optimizer with state of whole weights', () => accelerator.prepare(adafactor({})));

const step = steps({ stages, microBatches: 4 });
const [xs, ys] = [xsOf(0), ysOf(0)];
refused('no optimizer', () => step(xs, ys));
const optimizer = tf.train.sgd(0.1);
accelerator.prepare(optimizer);
refused('rows that cannot be divided', () => step(xs.slice(0, 6), ys.slice(0, 6)));
refused('other numbers of rows', () => step(xs, ys.slice(0, 8)));
refused('other stages', () => steps({ stages: SKIPPING_STAGES[4]!, schedule: 'interleaved' }));
const freeze = (names: readonly string[], isFrozen: boolean) => {
  for (const name of names) model.getLayer(name).trainable = !isFrozen;
};
if (pipe.rank === 0) freeze(['b'], true);
refused('other frozen layers', () => step(xs, ys));
freeze(['a', 'b', 'c'], true);
refused('a rank whose layers are frozen', () => step(xs, ys));
freeze(['a', 'b', 'c'], false);
const temperature = tf.variable(tf.scalar(2), true, 'temperature');
const scaled = (yTrue: tf.Tensor, yPred: tf.Tensor) => meanSquares(yTrue, yPred.div(temperature));
refused('a variable of the loss', () => {
  accelerator.pipelined(model, scaled, { stages, microBatches: 4 })(xs, ys);
});
temperature.trainable = false;
refused('a frozen variable of the loss', () => {
  accelerator.pipelined(model, scaled, { stages, microBatches: 4 })(xs, ys);
});
temperature.dispose();
refused('a loss without the model', () => {
  accelerator.pipelined(model, (yTrue) => yTrue.mean(), { stages, microBatches: 4 })(xs, ys);
});
refused('inside noSync', () => accelerator.noSync(() => step(xs, ys)));
refused('minimize', () =>
  optimizer.minimize(() => meanSquares(ys, model.predict(xs) as tf.Tensor) as tf.Scalar),
);
// It reads weights that other ranks hold, in a collective that a recording does not have.
const reading = accelerator.compile((x: tf.Tensor, y: tf.Tensor) => {
  step(x, y).dispose();
  return model.trainableWeights[0]!.read().mul(1);
});
const read = [1, 2, 3, 4].map(() => reading(xs, ys).dataSync()[0]);
codes['weights in a compiled step'] = `${reading.replays} replays: ${reading.reason}`;
if (new Set(read).size < 4) codes['weights in a compiled step'] = `the same weights: ${read.join()}`;
const values = [step(xs, ys), step(xs, ys)].map((loss) => loss.dataSync()[0]!);
codes['steps after all that'] = values[1]! < values[0]! ? 'fall' : `rise: ${values.join()}`;
accelerator.prepare(optimizer);
refused('two optimizers', () => accelerator.prepare(tf.train.sgd(0.1)));
const compiledModel = tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [2] })] });
compiledModel.compile({ optimizer: 'sgd', loss: 'meanSquaredError' });
refused('a model with another optimizer', () => accelerator.prepare(compiledModel));
refused('a model that was compiled later', () =>
  model.compile({ optimizer: tf.train.sgd(0.1), loss: 'meanSquaredError' }),
);
reportResult(codes);
