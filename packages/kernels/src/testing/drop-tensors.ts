/**
 * Drops tensors without disposing them and prints, as JSON, the native MiB that were held: at most, while V8 collects
 * when it likes, and at the end, after a collection. Run with `--expose-gc`.
 */
import { setTimeout } from 'node:timers/promises';
import * as tf from '@tensorflow/tfjs-core';
import { memoryStats } from '@acc/native';
import { registerAccBackend } from '../register-backend.js';

const MIB = 2 ** 20;
const ROUNDS = 200;

registerAccBackend();
await tf.setBackend('acc');
const heldMib = (): number => memoryStats().allocatedBytes / MIB;

/** 8 MiB, of which nobody keeps anything, in another shape as well. */
function drop(): void {
  const x = tf.ones([MIB, 1]);
  tf.neg(tf.reshape(x, [1, MIB]));
}

let mostMib = 0;
for (let round = 0; round < ROUNDS; round++) {
  drop();
  mostMib = Math.max(mostMib, heldMib());
  // Finalizers run between tasks.
  await setTimeout(0);
}
for (let turn = 0; turn < 5; turn++) {
  globalThis.gc!();
  await setTimeout(0);
}
console.log(JSON.stringify({ droppedMib: ROUNDS * 8, mostMib, leftMib: heldMib() }));
