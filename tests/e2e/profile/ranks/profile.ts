// Profiles of trainings whose FLOPs are known, on this rank, and programs that cannot be profiled.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, type Profile, type ProfileOptions } from '@acc/core';
import { gpt2 } from '@acc/transformer';
import { disposeOptimizers } from '../../dispose-optimizers.js';

export type ModelName = 'gpt' | 'convnet' | 'lstm';

export interface ProfileCase {
  readonly model: ModelName;
  readonly compiled?: boolean;
  readonly checkpointEvery?: number;
  readonly schedule: { wait: number; warmup: number; active: number };
}

export interface ProfileArgs {
  readonly cases: readonly ProfileCase[];
  readonly traceDir: string;
}

export interface Profiled {
  readonly profiles: readonly (Omit<Profile, 'toString' | 'table'> & { text: string; operators: string[] })[];
  readonly problems: Readonly<Record<string, string>>;
}

export const GPT = { batch: 2, length: 16, width: 32, heads: 4, layers: 2, vocabulary: 64 } as const;
export const CONVNET = { batch: 4, size: 12, channels: [3, 16, 32], classes: 10 } as const;
export const LSTM = { batch: 3, steps: 6, inputs: 8, units: 16 } as const;

function gpt() {
  const { batch, length, width, heads, layers, vocabulary } = GPT;
  const dropout = { resid_pdrop: 0, embd_pdrop: 0, attn_pdrop: 0 };
  const sizes = {
    n_embd: width,
    n_head: heads,
    n_layer: layers,
    n_positions: length,
    vocab_size: vocabulary,
  };
  const model = gpt2({ ...sizes, ...dropout });
  const xs = tf.tidy(() =>
    tf
      .range(0, batch * length, 1, 'int32')
      .mod(vocabulary)
      .toInt()
      .reshape([batch, length]),
  );
  const ys = tf.tidy(() => tf.oneHot(xs.toInt(), vocabulary).toFloat());
  return { model, xs, ys };
}

function convnet() {
  const { batch, size, channels, classes } = CONVNET;
  const conv = (filters: number) =>
    ({ filters, kernelSize: 3, padding: 'same', activation: 'relu' }) as const;
  const model = tf.sequential({
    layers: [
      tf.layers.conv2d({ ...conv(channels[1]), inputShape: [size, size, channels[0]] }),
      tf.layers.conv2d({ ...conv(channels[2]), strides: 2 }),
      tf.layers.flatten(),
      tf.layers.dense({ units: classes }),
    ],
  });
  const xs = tf.randomNormal([batch, size, size, channels[0]], 0, 1, 'float32', 1);
  const ys = tf.tidy(() => tf.oneHot(tf.range(0, batch, 1, 'int32'), classes).toFloat());
  return { model, xs, ys };
}

function lstm() {
  const { batch, steps, inputs, units } = LSTM;
  const layer = tf.layers.lstm({ units, inputShape: [steps, inputs] }) as tf.layers.Layer;
  const xs = tf.randomNormal([batch, steps, inputs], 0, 1, 'float32', 1);
  return { model: tf.sequential({ layers: [layer] }), xs, ys: tf.ones([batch, units]) };
}

const MODELS = { gpt, convnet, lstm };

async function profileOf(
  { model: name, compiled = false, checkpointEvery, schedule }: ProfileCase,
  traceDir: string,
) {
  const accelerator = await Accelerator.create(checkpointEvery === undefined ? {} : { checkpointEvery });
  const { model, xs, ys } = MODELS[name]();
  const optimizer = tf.train.adam(0.001);
  accelerator.prepare(model, optimizer);
  const loss = () =>
    tf.losses.softmaxCrossEntropy(ys, model.apply(xs, { training: true }) as tf.Tensor) as tf.Scalar;
  const plain = () => void optimizer.minimize(loss);
  const step = compiled ? accelerator.compile(plain) : plain;
  const { wait, warmup, active } = schedule;
  // Two steps more than the schedule needs, which run as usual.
  const train = () => {
    for (let i = 0; i < wait + warmup + active + 2; i++) {
      globalThis.gc!();
      step();
    }
  };
  const { table, ...profile } = await accelerator.profile(train, { schedule, traceDir });
  accelerator.freeMemory();
  disposeOptimizers(optimizer);
  model.dispose();
  tf.dispose([xs, ys]);
  return { ...profile, text: String(profile), operators: table.map(({ name }) => name) };
}

/** The message of the error that `run` throws. */
function memoryError(run: () => unknown): string {
  try {
    run();
    return 'nothing';
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    return `${code}: ${message}`;
  }
}

/** The errors of wrong calls, by what is wrong. */
async function problemsOf(): Promise<Record<string, string>> {
  const accelerator = await Accelerator.create();
  const x = tf.variable(tf.scalar(1));
  const optimizer = tf.train.momentum(0.1, 0.9);
  accelerator.prepare([x], optimizer);
  const steps = (count: number) => () => {
    for (let i = 0; i < count; i++) optimizer.minimize(() => x.square().asScalar(), false, [x]);
  };
  const codeOf = async (fn: () => unknown, options?: ProfileOptions) =>
    accelerator.profile(fn, options).then(
      () => 'nothing',
      (error: { code?: string; message: string }) => `${error.code}: ${error.message}`,
    );
  const found = {
    few: await codeOf(steps(3)),
    none: await codeOf(() => {}),
    option: await codeOf(steps(5), { scedule: {} } as ProfileOptions),
    active: await codeOf(steps(5), { schedule: { active: 0 } }),
    fn: await codeOf(undefined as never),
    folder: await codeOf(steps(5), { traceDir: '/proc/no-such-folder' }),
    thrown: await codeOf(() => {
      throw Object.assign(new Error('of the program'), { code: 'OWN' });
    }),
    nested: await codeOf(() => accelerator.profile(steps(5))),
    // After all of these, a profile works.
    after: await codeOf(steps(4)),
    // With the table of who holds memory.
    memory: memoryError(() =>
      optimizer.minimize(
        () =>
          tf
            .fill([2 ** 22, 2 ** 22], 1)
            .mean()
            .add(x) as tf.Scalar,
      ),
    ),
  };
  accelerator.freeMemory();
  disposeOptimizers(optimizer);
  x.dispose();
  return found;
}

export default async function profile({ cases, traceDir }: ProfileArgs): Promise<Profiled> {
  // Peaks that are measured beside other tests are too low for the user's cache.
  const before = process.env['ACC_CACHE_DIR'];
  process.env['ACC_CACHE_DIR'] = `${traceDir}/cache`;
  try {
    const profiles = [];
    for (const [i, given] of cases.entries()) profiles.push(await profileOf(given, `${traceDir}/${i}`));
    return { profiles, problems: await problemsOf() };
  } finally {
    if (before === undefined) delete process.env['ACC_CACHE_DIR'];
    else process.env['ACC_CACHE_DIR'] = before;
  }
}
