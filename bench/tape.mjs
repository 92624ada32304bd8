/**
 * `node bench/tape.mjs`: measures the walk over the tape per node, with Accelerate and with tfjs.
 * See README.md.
 */
import { Accelerator } from '@acc/core';
import { setNumThreads } from '@acc/native';
import * as tf from '@tensorflow/tfjs';
import { exitOnError } from './harness/exit-on-error.mjs';
import { describeMachine } from './harness/machine.mjs';
import { formatColumns } from './harness/markdown-table.mjs';
import { formatHead, writeResult } from './harness/report.mjs';
import { median } from './harness/statistics.mjs';

/** The number of nodes and of repeats. */
const SIZES = [
  [100, 60],
  [1000, 30],
  [10_000, 7],
];

/** Chains on a scalar: an operator, and the operators that its gradient calls. */
const CHAINS = {
  'y = −y': { forward: (y) => y.neg(), backward: (dy) => [dy.neg()] },
  'y = y · x': { forward: (y, x) => y.mul(x), backward: timesX },
};

/** The gradient of a product casts the saved tensors. */
function timesX(dy, x) {
  const factors = [x.cast('float32'), x.cast('float32')];
  return [...factors, dy.mul(factors[0]), dy.mul(factors[1]), dy.add(x)];
}

await exitOnError(async () => {
  if (process.argv.length > 2) throw new Error('node bench/tape.mjs takes no options');
  const machine = describeMachine();
  const accelerator = await Accelerator.create({ engine: 'acc', device: 'cpu' });
  // Tensors have one element, so several threads would only wait for one another.
  setNumThreads(1);
  const x = tf.scalar(0.999);
  const rows = Object.entries(CHAINS).flatMap(([name, chain]) =>
    SIZES.map(([count, repeats]) => measure(name, chain, x, { count, repeats })),
  );
  await accelerator.endTraining();

  const versions = { node: process.versions.node, tfjs: tf.version['tfjs-core'] };
  const head = formatHead({ name: 'tape', machine, versions, options: { device: 'cpu' } });
  const text = `${head}\n\n${format(rows)}\n\nRepeat it: \`npm run bench:tape\`\n`;
  console.log(`${text}\n${writeResult('tape.md', text)}`);
});

/** Runs all in turn, so that they see the same machine. Returns µs per node. */
function measure(name, { forward, backward }, x, { count, repeats }) {
  const operators = () => {
    for (let i = 0; i < count; i++) tf.dispose(backward(x, x));
  };
  const stock = () => withTfjsWalk(() => backwardUs(forward, x, count));
  const sides = { ours: () => backwardUs(forward, x, count), stock, operators: () => timeUs(operators) };
  const times = { ours: [], stock: [], operators: [] };
  for (let repeat = 0; repeat <= repeats; repeat++) {
    for (const [side, run] of Object.entries(sides)) {
      const us = run() / count;
      if (repeat > 0) times[side].push(us);
    }
  }
  const [ours, stocks, kernels] = [times.ours, times.stock, times.operators].map(median);
  return { name, count, ours, stock: stocks, kernels };
}

/** Measures from the end of the forward pass. */
function backwardUs(forward, x, count) {
  let start;
  const gradient = tf.grad((t) => {
    let y = t;
    for (let i = 0; i < count; i++) {
      const next = forward(y, t);
      // Disposed here, so that tensors of the forward pass are not freed during the walk.
      if (y !== t) y.dispose();
      y = next;
    }
    start = process.cpuUsage();
    return y;
  })(x);
  const us = usSince(start);
  gradient.dispose();
  return us;
}

/** CPU time of the process, which depends less on other load than wall time does. */
function usSince(start) {
  const { user, system } = process.cpuUsage(start);
  return user + system;
}

function timeUs(run) {
  const start = process.cpuUsage();
  run();
  return usSince(start);
}

/** Accelerate's walk is an own property of the engine, which hides the method of the class. */
function withTfjsWalk(run) {
  const engine = tf.engine();
  const { gradients } = engine;
  delete engine.gradients;
  try {
    return run();
  } finally {
    engine.gradients = gradients;
  }
}

function format(rows) {
  const us = (time) => time.toFixed(1);
  const cells = rows.map(({ name, count, ours, stock, kernels }) => [
    ...[name, count.toLocaleString('en'), us(kernels)],
    ...[us(ours), us(ours - kernels), us(stock), us(stock - kernels)],
  ]);
  const titles = ['chain', 'operators', 'operators alone', 'ours', 'our walk', "tfjs's", "tfjs's walk"];
  return `${formatColumns(titles, cells)}

Microseconds of CPU time of the backward pass per operator, over all threads. Times are medians of repeats, which take turns.
"Operators alone" is the time of the operators in the gradient functions, without tape and gradient. "Walk" is the rest: the walk,
its scopes, freeing saved tensors, and the garbage collector. For a product, tfjs saves both factors as clones, which are nodes of
the tape, so there are three nodes.`;
}
