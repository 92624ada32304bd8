import { execFile, type ExecFileException } from 'node:child_process';
import { AccError } from '@acc/contract';
import type { TfjsNodePackage } from './package.js';

/** The findings of a process that loaded tfjs-node. */
export interface Verified {
  /** The version that the loaded library states. */
  readonly tensorflow: string;
  readonly usesGpu: boolean;
}

interface Findings extends Verified {
  readonly product: number[];
  readonly weight: number;
}

/** [[1, 2], [3, 4]] times [[5, 6], [7, 8]]. */
const PRODUCT = [19, 22, 43, 50];
/**
 * w after one step of gradient descent with rate 0.1 from w = 1, of mean((w·x − y)²) at x = (1, 2)
 * and y = (2, 4): the gradient is −5.
 */
const WEIGHT = 1.5;

/**
 * TensorFlow loads in seconds. On a GPU that its build does not know, it first compiles its kernels,
 * which takes minutes.
 */
const TIMEOUT_MS = 600_000;

/** Node.js 23 removed a function that tfjs-node 4.22 calls; see `mendTfjsNode` of @acc/tfjs-internals. */
const PROGRAM = `
const util = require('util');
util.isNullOrUndefined ??= (value) => value === null || value === undefined;
util.isArray ??= Array.isArray;
const tf = require(process.argv[1]);
const backend = tf.backend();
const product = [...tf.matMul([[1, 2], [3, 4]], [[5, 6], [7, 8]]).dataSync()];
const w = tf.variable(tf.scalar(1));
const [x, y] = [tf.tensor1d([1, 2]), tf.tensor1d([2, 4])];
tf.train.sgd(0.1).minimize(() => tf.mean(tf.square(tf.sub(tf.mul(w, x), y))));
const [weight] = w.dataSync();
const { TF_Version: tensorflow } = backend.binding;
console.log(JSON.stringify({ tensorflow, usesGpu: backend.isUsingGpuDevice, product, weight }));
`;

/**
 * Loads tfjs-node in a process of its own, multiplies two matrices there and takes a training step,
 * and compares the values.
 *
 * @param timeoutMs After this time the process is killed.
 * @throws AccError `ACC_TFJS_NODE_BROKEN` with the output of the process.
 */
export async function verifyTfjsNode(
  { name, path }: TfjsNodePackage,
  timeoutMs = TIMEOUT_MS,
): Promise<Verified> {
  const { stdout, stderr, error } = await run(['-e', PROGRAM, path], timeoutMs);
  if (error?.killed) throw broken(name, `the process that loads it did not end within ${timeoutMs / 1000} s`);
  const line = stdout.trim().split('\n').at(-1) ?? '';
  if (error || !line.startsWith('{')) {
    throw broken(
      name,
      `the process that loads it failed:\n${(stderr || stdout).trim().split('\n').slice(-20).join('\n')}`,
    );
  }
  const { product, weight, ...verified } = JSON.parse(line) as Findings;
  const isRight =
    product.every((value, i) => value === PRODUCT[i]) &&
    Math.abs(weight - WEIGHT) < 1e-6 &&
    product.length === 4;
  if (isRight) return verified;
  throw broken(
    name,
    `it computes wrong values: a product [${product.join(', ')}] instead of [${PRODUCT.join(', ')}], and a weight of ${weight} instead of ${WEIGHT}`,
  );
}

interface Ended {
  readonly stdout: string;
  readonly stderr: string;
  readonly error: ExecFileException | null;
}

function run(args: readonly string[], timeout: number): Promise<Ended> {
  return new Promise((resolve) => {
    const options = { timeout, killSignal: 'SIGKILL' } as const;
    execFile(process.execPath, args, options, (error, stdout, stderr) => resolve({ stdout, stderr, error }));
  });
}

function broken(name: string, what: string): AccError {
  return new AccError('ACC_TFJS_NODE_BROKEN', `${name} does not work: ${what}.`, {
    help: `Undo with: npx acc setup tfjs-node --undo. Another version may work: npx acc setup tfjs-node --tensorflow <version>`,
  });
}
