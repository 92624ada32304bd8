import * as tf from '@tensorflow/tfjs';
import { Accelerator } from '@acc/core';
const acc = await Accelerator.create({ engine: 'acc', device: 'cpu' });
const x = tf.randomNormal([2048, 1024]);
const small = tf.randomNormal([2048, 256]);
const g = tf.ones([256]), m = tf.ones([2048, 1]);
function t(name: string, f: () => tf.Tensor) {
  for (let i = 0; i < 5; i++) tf.tidy(() => { const y = f(); tf.slice(y, [0, 0], [1, 1]).dataSync(); });
  const times = [];
  for (let i = 0; i < 15; i++) { const s = performance.now(); tf.tidy(() => { const y = f(); tf.slice(y, [0, 0], [1, 1]).dataSync(); }); times.push(performance.now() - s); }
  times.sort((a, b) => a - b);
  console.log(name.padEnd(30), times[7]!.toFixed(3), times[0]!.toFixed(3));
}
t('gelu', () => { const inner = x.add(x.pow(3).mul(0.044715)).mul(Math.sqrt(2 / Math.PI)); return x.mul(0.5).mul(inner.tanh().add(1)); });
t('tanh', () => x.tanh());
t('mul2', () => x.mul(2));
t('mul x x', () => x.mul(x));
t('relu', () => x.relu());
t('8 muls', () => { let y: tf.Tensor = x; for (let i = 0; i < 8; i++) y = y.mul(1.01); return y; });
t('div', () => x.div(x));
t('small norm', () => small.sub(m).div(m).mul(g).add(g));
t('small mul', () => small.mul(2));
t('small mul g', () => small.mul(g));
t('small div m', () => small.div(m));
await acc.endTraining();
