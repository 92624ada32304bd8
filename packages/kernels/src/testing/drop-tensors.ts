/**
 * Drops tensors without disposing them. Prints two amounts of held native memory in MiB, as JSON:
 * the maximum while V8 collects on its own, and the amount after a forced collection. Run with
 * `--expose-gc`.
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

/** Allocates 8 MiB in tensors that nobody keeps, one of them also in another shape. */
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
