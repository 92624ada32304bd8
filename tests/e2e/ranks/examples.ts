// Runs the programs of examples/ that its arguments name, one after the other, as one job, and
// reports the lines that rank 0 prints. An argument is a name, or a name and its arguments:
// 'base --rows 480'.
import { Accelerator } from '@acc/core';
import { reportResult } from '@acc/testkit';
import * as tf from '@tensorflow/tfjs';

const EXAMPLES: Readonly<Record<string, () => Promise<unknown>>> = {
  base: () => import('../../../examples/base.js'),
  accumulation: () => import('../../../examples/by-feature/accumulation.js'),
  'activation-checkpointing': () => import('../../../examples/by-feature/activation-checkpointing.js'),
  'batch-size': () => import('../../../examples/by-feature/batch-size.js'),
  checkpointing: () => import('../../../examples/by-feature/checkpointing.js'),
  clipping: () => import('../../../examples/by-feature/clipping.js'),
  'communication-hook': () => import('../../../examples/by-feature/communication-hook.js'),
  compile: () => import('../../../examples/by-feature/compile.js'),
  'ddp-options': () => import('../../../examples/by-feature/ddp-options.js'),
  deterministic: () => import('../../../examples/by-feature/deterministic.js'),
  'early-stopping': () => import('../../../examples/by-feature/early-stopping.js'),
  fsdp: () => import('../../../examples/by-feature/fsdp.js'),
  'local-sgd': () => import('../../../examples/by-feature/local-sgd.js'),
  metrics: () => import('../../../examples/by-feature/metrics.js'),
  'mixed-precision': () => import('../../../examples/by-feature/mixed-precision.js'),
  monitor: () => import('../../../examples/by-feature/monitor.js'),
  'peak-memory': () => import('../../../examples/by-feature/peak-memory.js'),
  schedule: () => import('../../../examples/by-feature/schedule.js'),
  tracking: () => import('../../../examples/by-feature/tracking.js'),
  complete: () => import('../../../examples/complete/train.js'),
  resnet: () => import('../../../examples/resnet/train.js'),
  'char-gpt': () => import('../../../examples/char-gpt/train.js'),
  'fine-tune': () => import('../../../examples/fine-tune/train.js'),
  rnn: () => import('../../../examples/rnn/train.js'),
  gan: () => import('../../../examples/gan/train.js'),
  'cart-pole': () => import('../../../examples/cart-pole/train.js'),
};

const calls = process.argv.slice(2);
const { endTraining } = Accelerator.prototype;
const { log } = console;
const printed: Record<string, string> = {};
for (const [i, call] of calls.entries()) {
  const [name, ...args] = call.split(' ');
  process.argv.splice(2, Infinity, ...args);
  // A process can leave its job only once. Each program but the last one keeps it.
  Accelerator.prototype.endTraining = i === calls.length - 1 ? endTraining : freeMemory;
  const lines: string[] = [];
  console.log = (line: string) => lines.push(line);
  await EXAMPLES[name!]!().catch((error: unknown) => {
    console.error(`${call}:`, error);
    process.exit(1);
  });
  // An optimizer without a list of variables trains all that there are.
  tf.disposeVariables();
  printed[name!] = lines.join('\n');
}
console.log = log;
reportResult({ printed, known: Object.keys(EXAMPLES) });

async function freeMemory(this: Accelerator): Promise<void> {
  await this.waitForCheckpoint();
  this.freeMemory();
}
