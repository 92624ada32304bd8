import { randomInt } from 'node:crypto';
import { AccError } from '@acc/contract';
import { patch, type Undo } from '@acc/tfjs-internals';
import { describe } from '../nested/nested.js';
import { RandomSource, type RandomState } from './random-source.js';

/**
 * tfjs draws in JavaScript, from `Math.random` where it is given no seed: initializers, dropout, `tf.random*`. V8's own state can
 * neither be read nor set, so that `Math.random` is replaced: while an Accelerator runs, and by {@link setSeed}.
 */
let source: RandomSource | undefined;
let undo: Undo | undefined;
/** The generators of the backend that an Accelerator runs on. */
let seedBackend: ((seed: number) => void) | undefined;
/** For a backend that is chosen later. */
let seedToCome: number | undefined;

const draw = (): number => source!.next();

/** From now on `Math.random` draws from a source with a state; from where it was, if it does already. */
export function installRandom(seedKernels: (seed: number) => void): void {
  replace();
  seedBackend = seedKernels;
  if (seedToCome !== undefined) seedKernels(seedToCome);
  seedToCome = undefined;
}

/** Gives `Math.random` back. Another one that somebody has put in its place stays. */
export function uninstallRandom(): void {
  undo?.();
  undo = undefined;
  source = undefined;
  seedBackend = undefined;
}

export function readRandomState(): RandomState {
  return source!.getState();
}

export function restoreRandomState(state: RandomState): void {
  source!.setState(state);
}

/**
 * Makes the random numbers of this process those of `seed`: unseeded `tf.random*`, initializers and dropout of tfjs, which draw
 * from `Math.random`, and libtorch's own. Ranks that give the same seed draw the same.
 *
 * @param seed An integer from 0 to 2^53 - 1.
 * @throws AccError `ACC_INVALID_ARGUMENT`.
 */
export function setSeed(seed: number): void {
  if (!Number.isSafeInteger(seed) || seed < 0) {
    throw new AccError('ACC_INVALID_ARGUMENT', `setSeed takes an integer, not ${describe(seed)}.`, {
      help: 'Give one from 0 to 2^53 - 1.',
    });
  }
  source = new RandomSource(seed);
  replace();
  if (seedBackend) seedBackend(seed);
  else seedToCome = seed;
}

function replace(): void {
  source ??= new RandomSource(randomInt(2 ** 47));
  // Once more, so that it comes before what somebody else may have put there since.
  undo?.();
  undo = patch(Math, 'random', () => draw);
}
