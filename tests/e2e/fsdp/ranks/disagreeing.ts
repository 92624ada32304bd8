// Two ranks of which one does something else, or runs out of memory: the first argument says what. Each reports its error.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import * as tf from '@tensorflow/tfjs';
import { Accelerator, isAccError } from '@acc/core';
import { reportResult } from '@acc/testkit';

export type Mistake = 'variable' | 'units' | 'list' | 'memory';
export interface Result {
  readonly code: string;
  readonly message: string;
  readonly help: string | undefined;
}

const MEBI = 2 ** 20;

/** Lets this process allocate only so much more than it has. */
function limitMemory(bytes: number): void {
  const [, kibis] = /^VmData:\s*(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))!;
  const limit = Number(kibis) * 1024 + bytes;
  execFileSync('prlimit', ['--pid', String(process.pid), `--data=${limit}`]);
}

const mistake = process.argv[2] as Mistake;
const accelerator = await Accelerator.create({ strategy: 'fsdp', fsdp: { bucketBytes: 1 } });
const { processIndex: rank } = accelerator;
const x = tf.ones([2, 4]);
const matrix = (name: string) => tf.variable(tf.ones([4, 4]), true, name);
const lossOf =
  (...weights: tf.Variable[]) =>
  () =>
    weights
      .reduce((y: tf.Tensor, weight) => tf.matMul(y as tf.Tensor2D, weight as tf.Tensor2D), x)
      .square()
      .mean() as tf.Scalar;
const variables = ['a', 'b', 'c'].map(matrix);
const [a, b, c] = variables as [tf.Variable, tf.Variable, tf.Variable];
const optimizer = tf.train.adam(0.1);
accelerator.prepare(variables, optimizer);
optimizer.minimize(lossOf(a, b, c), false, variables);

const MISTAKES: Record<Mistake, () => unknown> = {
  /** One rank trains a variable that the other does not have. */
  variable: () => {
    const list = rank === 0 ? [...variables, matrix('own')] : variables;
    return optimizer.minimize(lossOf(...list), false, list);
  },
  /** One rank leaves a layer out. */
  units: () => optimizer.minimize(rank === 1 ? lossOf(a, c) : lossOf(a, b, c), false, variables),
  list: () => optimizer.minimize(lossOf(a, b, c), false, rank === 0 ? [a, b] : variables),
  /** One rank has too little memory for a unit. */
  memory: () => {
    const large = tf.variable(tf.fill([48 * MEBI], 1), true, 'large');
    accelerator.prepare([large]);
    // Its shard of the gradient needs 96 MiB.
    if (rank === 1) limitMemory(40 * MEBI);
    return optimizer.minimize(() => tf.mean(large), false, [large]);
  },
};

try {
  MISTAKES[mistake]();
  reportResult({ code: 'none', message: '', help: undefined } satisfies Result);
} catch (error) {
  if (!isAccError(error)) throw error;
  const { code, message, help } = error;
  reportResult({ code, message, help } satisfies Result);
}
// The ranks do not agree any more, so there is nothing to end together.
process.exit(0);
