// Attention of ranks that have pieces of sequences, beside attention to the whole ones in this process.
// The arguments are the choice of `context.attention` and the engine. Reports, for each case, the
// largest difference of outputs and gradients, and the code of what is refused.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, isAccError, scaledDotProductAttention } from '@acc/core';
import { attendLocally } from '@acc/kernels';
import { reportResult } from '@acc/testkit';

const [attention, engine] = process.argv.slice(2, 4) as ['ring' | 'heads' | 'auto', 'auto' | 'tfjs'];
const isCausal = process.argv[4] === 'causal';
const accelerator = await Accelerator.create({ mesh: { context: -1 }, context: { attention }, engine });
const { numProcesses: ranks, processIndex: rank } = accelerator;

const [BATCH, LENGTH, DIM] = [2, 5, 8];
const WHOLE = ranks * LENGTH;

function wave(shape: number[], shift: number): tf.Tensor4D {
  const size = shape.reduce((product, length) => product * length, 1);
  return tf.tensor(
    Float32Array.from({ length: size }, (_, i) => Math.sin(i * 1.7 + shift)),
    shape as [number, number, number, number],
  );
}

/** This rank's part of a dim. */
const piece = (x: tf.Tensor, dim = 2): tf.Tensor =>
  tf.slice(
    x,
    x.shape.map((_, each) => (each === dim ? (rank * x.shape[dim]!) / ranks : 0)),
    x.shape.map((length, each) => (each === dim ? length / ranks : length)),
  );

interface Case {
  readonly heads?: number;
  readonly kvHeads?: number;
  readonly dimOfV?: number;
  readonly isCausal?: boolean;
  readonly scale?: number;
  /** The mask for whole sequences, and that of this rank. */
  readonly mask?: () => { whole: tf.Tensor; own: tf.Tensor };
}

const isSeen = (shape: number[]) => tf.greater(wave(shape, 5), -0.3);
/** Query 0 sees nothing, and no query sees the last piece of the keys. */
function farMask(): tf.Tensor {
  const sees = (query: number, key: number) => query > 0 && key < WHOLE - LENGTH;
  const values = Array.from({ length: WHOLE * WHOLE }, (_, i) =>
    Number(sees(Math.floor(i / WHOLE), i % WHOLE)),
  );
  return tf.tensor(values, [1, 1, WHOLE, WHOLE], 'bool');
}
const rowsOf = (whole: tf.Tensor) => ({ whole, own: piece(whole, whole.rank - 2) });

const CASES: Record<string, Case> = {
  plain: {},
  causal: { isCausal: true },
  scaled: { scale: 0.3, isCausal: true },
  grouped: { kvHeads: 6 },
  'causal and grouped': { kvHeads: 6, isCausal: true },
  'another dim of v': { dimOfV: 4 },
  'booleans of queries and keys': { mask: () => rowsOf(isSeen([BATCH, 1, WHOLE, WHOLE])) },
  'booleans of every head, causal': { isCausal: true, mask: () => rowsOf(isSeen([1, 12, WHOLE, WHOLE])) },
  'numbers of queries and keys': { mask: () => rowsOf(wave([WHOLE, WHOLE], 3)) },
  'queries and a piece that see nothing': { mask: () => rowsOf(farMask()) },
  'booleans of this rank’s keys': {
    mask: () => {
      const whole = isSeen([BATCH, 1, 1, WHOLE]);
      return { whole, own: piece(whole, 3) };
    },
  },
  'causal, with booleans of this rank’s keys': {
    isCausal: true,
    mask: () => {
      const whole = isSeen([BATCH, 1, 1, WHOLE]);
      return { whole, own: piece(whole, 3) };
    },
  },
  'booleans of all keys': {
    mask: () => {
      const whole = isSeen([BATCH, 1, 1, WHOLE]);
      return { whole, own: whole };
    },
  },
};

type Attend = (q: tf.Tensor, k: tf.Tensor, v: tf.Tensor) => tf.Tensor;

/** The output, and the gradients of q, k and v. */
function resultsOf(attend: Attend, inputs: tf.Tensor[], factors: tf.Tensor): tf.Tensor[] {
  const output = attend(...(inputs as [tf.Tensor, tf.Tensor, tf.Tensor]));
  const lossOf = (...xs: tf.Tensor[]) =>
    tf.sum(tf.mul(attend(...(xs as [tf.Tensor, tf.Tensor, tf.Tensor])), factors));
  return [output, ...tf.grads(lossOf as never)(inputs)];
}

function differenceIn(given: Case): number[] {
  const { heads = 12, kvHeads = heads, dimOfV = DIM, isCausal = false, scale = 1 / Math.sqrt(DIM) } = given;
  const inputs = [
    wave([BATCH, heads, WHOLE, DIM], 0),
    wave([BATCH, kvHeads, WHOLE, DIM], 1),
    wave([BATCH, kvHeads, WHOLE, dimOfV], 2),
  ];
  const factors = wave([BATCH, heads, WHOLE, dimOfV], 4);
  const mask = given.mask?.();
  const whole = resultsOf(
    (q, k, v) => attendLocally(q, k, v, { isCausal, scale, dropout: 0, mask: mask?.whole }),
    inputs,
    factors,
  );
  const options = { isCausal, scale, ...(mask && { mask: mask.own }) };
  const own = resultsOf(
    (q, k, v) => scaledDotProductAttention(q as tf.Tensor4D, k as tf.Tensor4D, v as tf.Tensor4D, options),
    inputs.map((x) => piece(x)),
    piece(factors),
  );
  return whole.map((x, i) => tf.max(tf.abs(tf.sub(piece(x), own[i]!))).dataSync()[0]!);
}

function codeOf(act: () => unknown): string {
  try {
    tf.tidy(() => {
      act();
    });
    return 'none';
  } catch (error) {
    if (!isAccError(error)) throw error;
    return error.code;
  }
}

const differences: Record<string, number[]> = {};
const { numTensors } = tf.memory();
for (const [name, given] of Object.entries(CASES)) {
  differences[name] = tf.tidy(() => differenceIn(given) as never);
}
const left = tf.memory().numTensors - numTensors;

const x = wave([1, 6, 4, DIM], 0);
const short = wave([1, 6, 2, DIM], 0);
const w = tf.variable(wave([4, 4 * ranks], 0));
const attend = (q: tf.Tensor4D, k: tf.Tensor4D, options: object) =>
  scaledDotProductAttention(q, k, k, options);
const refused = {
  'own columns of queries': codeOf(() => attend(x, x, { mask: isSeen([1, 1, 4, 4]) })),
  'a trained mask': codeOf(() => tf.variableGrads(() => tf.sum(attend(x, x, { mask: w })), [w])),
  'causal with fewer keys': codeOf(() => attend(x, short, { isCausal: true })),
  heads: codeOf(() => attend(wave([1, 7, 4, DIM], 0), wave([1, 7, 4, DIM], 0), {})),
  'second gradients': codeOf(() =>
    tf.grad((q) => tf.sum(tf.grad((p) => attend(p as tf.Tensor4D, x, {}))(q)))(x),
  ),
};
const dropped = tf.tidy(() => {
  const ones = tf.ones([1, 12, 64, DIM]) as tf.Tensor4D;
  const value = (q: tf.Tensor, v: tf.Tensor) =>
    scaledDotProductAttention(q as tf.Tensor4D, ones, v as tf.Tensor4D, { dropout: 0.5 });
  const [, ofV] = tf.grads((q, v) => tf.sum(value(q!, v!)))([ones, ones]);
  // Each weight is 1 / n or 0, so sums over the output and over the gradient tell what was kept.
  return [tf.mean(value(ones, ones)).dataSync()[0]!, tf.mean(ofV!).dataSync()[0]!] as never;
}) as number[];
// Twice with one length, so that messages need no headers any more. Then each rank has another one; a
// piece of one position is not divided into halves.
const unequal = [6, 6, 6 + rank, 1 + rank].map((length) =>
  codeOf(() => attend(wave([1, 6, length, DIM], 0), wave([1, 6, length, DIM], 1), { isCausal })),
);
reportResult({ differences, refused, unequal, dropped, left });
await accelerator.endTraining();
