// Attention of ranks that have pieces of sequences, beside attention to the whole ones in this process.
// Returns, for each case, the largest difference of outputs and gradients, and the code of what is
// refused.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, isAccError, scaledDotProductAttention, type AcceleratorOptions } from '@acc/core';
import { attendLocally } from '@acc/kernels';

export interface Args {
  readonly attention: 'ring' | 'heads';
  readonly engine: AcceleratorOptions['engine'];
  /** Whether pieces of unequal lengths are attended to causally. */
  readonly isCausal: boolean;
}

export interface Found {
  /** Of the output and of the gradients of q, k and v. */
  readonly differences: Record<string, number[]>;
  readonly refused: Record<string, string>;
  /** Of attention to pieces of one length, and then to unequal ones. */
  readonly unequal: string[];
  /** As a case of `differences`, after that. */
  readonly afterwards: number[];
  readonly dropped: number[];
  readonly left: number;
}

const [BATCH, LENGTH, DIM] = [2, 5, 8];

function wave(shape: number[], shift: number): tf.Tensor4D {
  const size = shape.reduce((product, length) => product * length, 1);
  return tf.tensor(
    Float32Array.from({ length: size }, (_, i) => Math.sin(i * 1.7 + shift)),
    shape as [number, number, number, number],
  );
}

interface Place {
  readonly rank: number;
  readonly size: number;
}

/** This rank's part of a dim. */
const piece = (x: tf.Tensor, { rank, size }: Place, dim = 2): tf.Tensor =>
  tf.slice(
    x,
    x.shape.map((_, each) => (each === dim ? (rank * x.shape[dim]!) / size : 0)),
    x.shape.map((length, each) => (each === dim ? length / size : length)),
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
function farMask(whole: number): tf.Tensor {
  const sees = (query: number, key: number) => query > 0 && key < whole - LENGTH;
  const values = Array.from({ length: whole * whole }, (_, i) =>
    Number(sees(Math.floor(i / whole), i % whole)),
  );
  return tf.tensor(values, [1, 1, whole, whole], 'bool');
}

function casesOf(place: Place): Record<string, Case> {
  const length = place.size * LENGTH;
  const rowsOf = (whole: tf.Tensor) => ({ whole, own: piece(whole, place, whole.rank - 2) });
  const ofKeys = () => {
    const whole = isSeen([BATCH, 1, 1, length]);
    return { whole, own: piece(whole, place, 3) };
  };
  return {
    plain: {},
    causal: { isCausal: true },
    scaled: { scale: 0.3, isCausal: true },
    grouped: { kvHeads: 6 },
    'causal and grouped': { kvHeads: 6, isCausal: true },
    'another dim of v': { dimOfV: 4 },
    'booleans of queries and keys': { mask: () => rowsOf(isSeen([BATCH, 1, length, length])) },
    'booleans of every head, causal': {
      isCausal: true,
      mask: () => rowsOf(isSeen([1, 12, length, length])),
    },
    'numbers of queries and keys': { mask: () => rowsOf(wave([length, length], 3)) },
    'queries and a piece that see nothing': { mask: () => rowsOf(farMask(length)) },
    'booleans of this rank’s keys': { mask: ofKeys },
    'causal, with booleans of this rank’s keys': { isCausal: true, mask: ofKeys },
    'booleans of all keys': {
      mask: () => {
        const whole = isSeen([BATCH, 1, 1, length]);
        return { whole, own: whole };
      },
    },
  };
}

type Attend = (q: tf.Tensor, k: tf.Tensor, v: tf.Tensor) => tf.Tensor;

/** The output, and the gradients of q, k and v. */
function resultsOf(attend: Attend, inputs: tf.Tensor[], factors: tf.Tensor): tf.Tensor[] {
  const output = attend(...(inputs as [tf.Tensor, tf.Tensor, tf.Tensor]));
  const lossOf = (...xs: tf.Tensor[]) =>
    tf.sum(tf.mul(attend(...(xs as [tf.Tensor, tf.Tensor, tf.Tensor])), factors));
  return [output, ...tf.grads(lossOf as never)(inputs)];
}

function differenceIn(given: Case, place: Place): number[] {
  const { heads = 12, kvHeads = heads, dimOfV = DIM, isCausal = false, scale = 1 / Math.sqrt(DIM) } = given;
  const length = place.size * LENGTH;
  const inputs = [
    wave([BATCH, heads, length, DIM], 0),
    wave([BATCH, kvHeads, length, DIM], 1),
    wave([BATCH, kvHeads, length, dimOfV], 2),
  ];
  const factors = wave([BATCH, heads, length, dimOfV], 4);
  const mask = given.mask?.();
  const whole = resultsOf(
    (q, k, v) => attendLocally(q, k, v, { isCausal, scale, dropout: 0, mask: mask?.whole }),
    inputs,
    factors,
  );
  const options = { isCausal, scale, ...(mask && { mask: mask.own }) };
  const own = resultsOf(
    (q, k, v) => scaledDotProductAttention(q as tf.Tensor4D, k as tf.Tensor4D, v as tf.Tensor4D, options),
    inputs.map((x) => piece(x, place)),
    piece(factors, place),
  );
  return whole.map((x, i) => tf.max(tf.abs(tf.sub(piece(x, place), own[i]!))).dataSync()[0]!);
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

function differencesOf(place: Place): Pick<Found, 'differences' | 'left'> {
  const differences: Record<string, number[]> = {};
  const { numTensors } = tf.memory();
  for (const [name, given] of Object.entries(casesOf(place))) {
    differences[name] = tf.tidy(() => differenceIn(given, place) as never);
  }
  return { differences, left: tf.memory().numTensors - numTensors };
}

function refusedOn({ size }: Place): Record<string, string> {
  const x = wave([1, 6, 4, DIM], 0);
  const short = wave([1, 6, 2, DIM], 0);
  const w = tf.variable(wave([4, 4 * size], 0));
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
  w.dispose();
  return refused;
}

function droppedShares(): number[] {
  return tf.tidy(() => {
    const ones = tf.ones([1, 12, 64, DIM]) as tf.Tensor4D;
    const value = (q: tf.Tensor, v: tf.Tensor) =>
      scaledDotProductAttention(q as tf.Tensor4D, ones, v as tf.Tensor4D, { dropout: 0.5 });
    const [, ofV] = tf.grads((q, v) => tf.sum(value(q!, v!)))([ones, ones]);
    // Each weight is 1 / n or 0, so sums over the output and over the gradient tell what was kept.
    return [tf.mean(value(ones, ones)).dataSync()[0]!, tf.mean(ofV!).dataSync()[0]!] as never;
  });
}

/**
 * Twice with one length, so that messages need no headers any more. Then each rank has another one; a
 * piece of one position is not divided into halves.
 */
function unequalPieces(rank: number, isCausal: boolean): string[] {
  return [6, 6, 6 + rank, 1 + rank].map((length) =>
    codeOf(() =>
      scaledDotProductAttention(
        wave([1, 6, length, DIM], 0),
        wave([1, 6, length, DIM], 1),
        wave([1, 6, length, DIM], 1),
        { isCausal },
      ),
    ),
  );
}

export default async function attention({ attention, engine, isCausal }: Args): Promise<Found> {
  const accelerator = await Accelerator.create({ mesh: { context: -1 }, context: { attention }, engine });
  const place = { rank: accelerator.processIndex, size: accelerator.numProcesses };
  const found = {
    ...differencesOf(place),
    refused: refusedOn(place),
    dropped: droppedShares(),
    unequal: unequalPieces(place.rank, isCausal),
    afterwards: tf.tidy(() => differenceIn({ isCausal }, place) as never) as number[],
  };
  accelerator.freeMemory();
  // The process goes on with its own engine.
  await tf.setBackend('acc');
  return found;
}
