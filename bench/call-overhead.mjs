// Measures the cost of one call from JavaScript: a boxed libtorch operator whose tensor is freed,
// and tf.add through tfjs's engine.
import * as tf from '@tensorflow/tfjs';
import '@acc/kernels/register';
import { operator, setNumThreads, tensorFrom } from '@acc/native';
import { median } from './harness/statistics.mjs';

const CALLS = 200_000;
const REPEATS = 9;

/** Microseconds per call: the median of the repeats, after one warm-up that is not counted. */
function microseconds(run) {
  const times = [];
  for (let repeat = 0; repeat <= REPEATS; repeat++) {
    const start = performance.now();
    for (let i = 0; i < CALLS; i++) run();
    times.push(((performance.now() - start) * 1000) / CALLS);
  }
  return median(times.slice(1));
}

setNumThreads(1);
await tf.setBackend('acc');
const add = operator('aten::add.Tensor');
const x = tensorFrom(Float32Array.of(1, 2, 3, 4), 'float32', [4]);
const t = tf.tensor1d([1, 2, 3, 4]);
const rows = [
  ['aten::add.Tensor on [4], result freed', microseconds(() => add(x, x).dispose())],
  ['tf.add on [4], result disposed', microseconds(() => tf.add(t, t).dispose())],
];
for (const [what, us] of rows) console.log(`${us.toFixed(2)} µs  ${what}`);
