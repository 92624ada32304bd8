// Trains one small model without a hook and with each communication hook, on both backends. Reports
// the weights and the bytes passed to collectives.
import * as tf from '@tensorflow/tfjs';
import {
  Accelerator,
  oneBitHook,
  powerSgdHook,
  topKHook,
  type CommHook,
  type NamedCommHook,
  type Strategy,
} from '@acc/core';
import { ddp } from '@acc/ddp';

const ROWS = 16;
const INPUTS = 24;
const STEPS = 10;
const WARMUP = 3;

/** A user's own hook: the plain sum, in two halves. */
const halves: CommHook = {
  name: 'halves',
  reduce({ gradsLocal, collective }) {
    const half = tf.mul(gradsLocal, 0.5);
    gradsLocal.dispose();
    const pending = collective.allReduceAsync(half, 'sum', { donate: true, agreed: true });
    return {
      isDone: false,
      wait: () => tf.tidy(() => tf.mul(pending.wait(), 2)),
    };
  },
};

const powerSgd = () => powerSgdHook({ rank: 2, startIteration: WARMUP });
const topK = () => topKHook({ ratio: 0.1 });
const oneBit = () => oneBitHook({ warmupSteps: WARMUP });

/** A hook that another instance continues from its state after half of the steps. */
function resumed(make: () => CommHook): CommHook {
  let hook = make();
  let calls = 0;
  return {
    name: hook.name,
    reduce(bucket) {
      if (calls++ === STEPS / 2) {
        const state = hook.getState!();
        hook.dispose!();
        hook = make();
        hook.setState!(state);
      }
      return hook.reduce(bucket);
    },
    settle: (areFinite) => hook.settle!(areFinite),
    dispose: () => hook.dispose!(),
  };
}

/** New ones, because hooks have state. */
const hooks = (): Record<string, NamedCommHook | CommHook | undefined> => ({
  plain: undefined,
  own: halves,
  bf16: 'bf16',
  fp16: { name: 'fp16' },
  powerSgd: { name: 'powerSgd', rank: 2, startIteration: WARMUP },
  topK: { name: 'topK', ratio: 0.1 },
  oneBit: { name: 'oneBit', warmupSteps: WARMUP },
  'powerSgd resumed': resumed(powerSgd),
  'topK resumed': resumed(topK),
  'oneBit resumed': resumed(oneBit),
});

interface Counts {
  /** In the current step. */
  bytes: number;
  /** Sums over two ranks of 1.001 in the two 16-bit dtypes. */
  rounded: number[];
}

/** A strategy that records how many bytes its collectives move. */
function counting(strategy: Strategy, counts: Counts): Strategy {
  return {
    ...strategy,
    attach(context) {
      const { collective } = context;
      const counted = new Proxy(collective, {
        get(target, key) {
          const member = Reflect.get(target, key) as unknown;
          if (typeof member !== 'function') return member;
          return (x: unknown, op?: unknown, options?: { wireDtype?: string }) => {
            for (const moved of [x].flat())
              if (moved instanceof tf.Tensor) counts.bytes += moved.size * (options?.wireDtype ? 2 : 4);
            return (member as (...args: unknown[]) => unknown).call(target, x, op, options);
          };
        },
      });
      const mesh = { ...context.mesh, gradientRanks: counted };
      strategy.attach({ ...context, collective: counted, mesh });
      counts.rounded = (['bfloat16', 'float16'] as const).map((wireDtype) =>
        tf.tidy(() => {
          const sum = collective.allReduceAsync(tf.scalar(1.001), 'sum', { agreed: true, wireDtype }).wait();
          return sum.dataSync()[0]!;
        }),
      );
    },
  };
}

interface Run {
  weights: number[][];
  stepBytes: number[];
  rounded: number[];
}

async function train(commHook: NamedCommHook | CommHook | undefined): Promise<Run> {
  const counts: Counts = { bytes: 0, rounded: [] };
  const strategy = counting(ddp({ ...(commHook && { commHook }) }), counts);
  const accelerator = await Accelerator.create({
    engine: tf.getBackend() === 'cpu' ? 'tfjs' : 'acc',
    strategy,
  });
  const { processIndex: rank, numProcesses: size } = accelerator;
  const layer = (units: number, seed: number, inputShape?: number[]) =>
    tf.layers.dense({
      units,
      activation: inputShape ? 'tanh' : 'linear',
      kernelInitializer: tf.initializers.glorotNormal({ seed }),
      ...(inputShape && { inputShape }),
    });
  const built = tf.sequential({ layers: [layer(32, 1, [INPUTS]), layer(3, 2)] });
  const [model, optimizer] = accelerator.prepare<[tf.Sequential, tf.Optimizer]>(built, tf.train.sgd(0.1));
  const xs = tf.tidy(() => tf.sin(tf.range(0, ROWS * INPUTS).mul(1.7)).reshape([ROWS, INPUTS]));
  const ys = tf.tidy(() => tf.cos(tf.range(0, ROWS * 3).mul(2.3)).reshape([ROWS, 3]));
  const [x, y] = [xs, ys].map((all) => all.slice((rank * ROWS) / size, ROWS / size));
  const stepBytes: number[] = [];
  for (let step = 0; step < STEPS; step++) {
    counts.bytes = 0;
    tf.tidy(() => {
      optimizer.minimize(() => tf.losses.meanSquaredError(y!, model.predict(x!) as tf.Tensor).asScalar());
    });
    stepBytes.push(counts.bytes);
  }
  const weights = model.getWeights().map((w) => [...w.dataSync()]);
  accelerator.freeMemory();
  tf.dispose([xs, ys, x!, y!]);
  optimizer.dispose();
  model.dispose();
  return { weights, stepBytes, rounded: counts.rounded };
}

type Result = Record<
  string,
  { readonly runs: Record<string, Run & { readonly leaked: number }>; readonly rounded: number[] }
>;

export default async function traffic(): Promise<Result> {
  const results: Result = {};
  for (const backend of ['acc', 'cpu']) {
    await tf.setBackend(backend);
    const runs: Result[string]['runs'] = {};
    for (const [name, commHook] of Object.entries(hooks())) {
      const before = tf.memory().numTensors;
      const run = await train(commHook);
      runs[name] = { ...run, leaked: tf.memory().numTensors - before };
    }
    results[backend] = { runs, rounded: runs['plain']!.rounded };
  }
  await tf.setBackend('acc');
  return results;
}
