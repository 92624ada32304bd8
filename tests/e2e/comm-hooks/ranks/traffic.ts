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
import { reportResult } from '@acc/testkit';

let engine: 'acc' | 'tfjs' = 'acc';
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

const RUNS: Record<string, NamedCommHook | CommHook | undefined> = {
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
};

/** Sums over two ranks of 1.001 in the two 16-bit dtypes. */
let rounded: number[] = [];

/** A strategy that records how many bytes its collectives move in each step. */
function counting(strategy: Strategy, count: (bytes: number) => void): Strategy {
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
              if (moved instanceof tf.Tensor) count(moved.size * (options?.wireDtype ? 2 : 4));
            return (member as (...args: unknown[]) => unknown).call(target, x, op, options);
          };
        },
      });
      const mesh = { ...context.mesh, gradientRanks: counted };
      strategy.attach({ ...context, collective: counted, mesh });
      rounded = (['bfloat16', 'float16'] as const).map((wireDtype) =>
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
}

async function train(commHook: NamedCommHook | CommHook | undefined): Promise<Run> {
  let bytes = 0;
  const strategy = counting(ddp({ ...(commHook && { commHook }) }), (more) => (bytes += more));
  const accelerator = await Accelerator.create({ engine, strategy });
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
    bytes = 0;
    tf.tidy(() => {
      optimizer.minimize(() => tf.losses.meanSquaredError(y!, model.predict(x!) as tf.Tensor).asScalar());
    });
    stepBytes.push(bytes);
  }
  const weights = model.getWeights().map((w) => [...w.dataSync()]);
  accelerator.freeMemory();
  tf.dispose([xs, ys, x!, y!]);
  optimizer.dispose();
  model.dispose();
  return { weights, stepBytes };
}

const results: Record<string, { runs: Record<string, Run & { leaked: number }>; rounded: number[] }> = {};
for (const backend of ['acc', 'cpu']) {
  engine = backend === 'acc' ? 'acc' : 'tfjs';
  if (backend === 'cpu') await tf.setBackend('cpu');
  const runs: Record<string, Run & { leaked: number }> = {};
  for (const [name, commHook] of Object.entries(RUNS)) {
    const before = tf.memory().numTensors;
    const run = await train(commHook);
    runs[name] = { ...run, leaked: tf.memory().numTensors - before };
  }
  results[backend] = { runs, rounded };
}
reportResult(results);
await (await Accelerator.create({ engine })).endTraining();
