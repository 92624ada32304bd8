import { randomBelow } from '@acc/platform';
import { AccError } from '@acc/contract';
import { describe } from '@acc/tape';
import { patch, type Undo } from '@acc/tfjs-internals';
import { chooseOrders, endOrders } from './data-orders.js';
import { RandomSource, type RandomState } from './random-source.js';

/**
 * Without a seed, tfjs draws in JavaScript from `Math.random`: initializers, dropout, `tf.random*`.
 * The state of V8's generator can neither be read nor set. Therefore `Math.random` is replaced
 * while an Accelerator runs, and by {@link setSeed}.
 */
let source: RandomSource | undefined;
let undo: Undo | undefined;
/** Seeds the generators of the backend that an Accelerator uses. */
let seedBackend: ((seed: number) => void) | undefined;
/** The seed for a backend that is chosen later. */
let seedToCome: number | undefined;

/** Draws for the code that runs now, if its draws belong to a place in data. */
let drawHere: () => number | undefined = () => undefined;

const draw = (): number => drawHere() ?? source!.next();

/** Makes draws come from `drawAt` wherever it gives a number. */
export function drawAtPlaces(drawAt: () => number | undefined): void {
  drawHere = drawAt;
}

/** Makes `Math.random` draw from a source with a state. An existing source continues. */
export function installRandom(seedKernels: (seed: number) => void): void {
  replace();
  seedBackend = seedKernels;
  if (seedToCome !== undefined) seedKernels(seedToCome);
  seedToCome = undefined;
}

/**
 * The seed of the rank with shard `index` of each sequence: another one for each, so that dropout of the
 * shards draws different numbers, and `seed` for shard 0.
 */
export function seedOfShard(seed: number, index: number): number {
  const room = Number.MAX_SAFE_INTEGER - seed;
  return index <= room ? seed + index : index - room - 1;
}

/** Restores `Math.random`, unless someone else has replaced it since. */
export function uninstallRandom(): void {
  undo?.();
  undo = undefined;
  source = undefined;
  seedBackend = undefined;
  endOrders();
}

/** Runs a synchronous function whose draws from `Math.random` come from another source. */
export function drawingFrom<T>(other: RandomSource, fn: () => T): T {
  const own = source;
  source = other;
  try {
    return fn();
  } finally {
    source = own;
  }
}

export function readRandomState(): RandomState {
  return source!.getState();
}

export function restoreRandomState(state: RandomState): void {
  source!.setState(state);
}

/**
 * Sets the random numbers of this process: those of tfjs without a seed (`tf.random*`,
 * initializers, dropout), which come from `Math.random`, those of libtorch, and the orders of
 * `dataset.shuffle` without a seed and of `tf.util.shuffle`. Ranks with the same seed draw the same
 * numbers, except that libtorch's differ along the mesh's axis `context`, whose ranks drop elements
 * of different shards of a sequence.
 *
 * @param seed An integer from 0 to 2^53 - 1.
 * @throws AccError `ACC_INVALID_ARGUMENT`.
 */
export function setSeed(seed: number): void {
  if (!Number.isSafeInteger(seed) || seed < 0) {
    throw new AccError('ACC_INVALID_ARGUMENT', `setSeed needs an integer, not ${describe(seed)}.`, {
      help: 'Give an integer from 0 to 2^53 - 1.',
    });
  }
  source = new RandomSource(seed);
  chooseOrders(seed);
  replace();
  if (seedBackend) seedBackend(seed);
  else seedToCome = seed;
}

function replace(): void {
  source ??= new RandomSource(randomBelow(2 ** 47));
  // Installed again, so that it replaces any function that others have installed since.
  undo?.();
  undo = patch(Math, 'random', 'seed', () => draw);
}
