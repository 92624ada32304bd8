import { dispose, type Tensor } from '@tensorflow/tfjs-core';
import { engineInternals } from '@acc/tfjs-internals';
import type { Nested } from '../nested/nested.js';
import { activeKernels } from '../presets/kernels.js';
import { whatRuns } from '../running.js';
import { firstRun } from './first-run.js';
import { checkpointNode } from './recompute.js';
import { ownResult } from './results.js';
import { sameRandom } from './same-random.js';

/**
 * Runs `fn(...inputs)` without keeping what its gradient needs: in backward `fn` is computed again, from its inputs (Chen et al.
 * 2016, "Training Deep Nets with Sublinear Memory Cost"). Values and gradients are those of `fn` itself: with the same random
 * numbers, the same mixed precision, and variables as they were. Variables and tensors that `fn` takes from outside are found,
 * and get their gradients. Where no gradient is computed, `fn` just runs. Checkpoints may hold others.
 *
 * `fn` runs in a tidy, twice. Called again it does the same; beside assigning variables, which counts once, it changes nothing
 * outside.
 *
 * @param fn Returns a tensor, or arrays and records of such. They are the caller's, or its tidy's.
 * @throws AccError `ACC_NOT_A_TENSOR`, `ACC_CHECKPOINT_ASYNC` for other results; in backward `ACC_CHECKPOINT_CHANGED`, when `fn`
 * gives other shapes or draws more random numbers than before.
 */
export function checkpoint<Inputs extends readonly Tensor[], R extends Nested>(
  fn: (...inputs: Inputs) => R,
  inputs: readonly [...Inputs],
): R {
  const engine = engineInternals();
  const run = () => fn(...(inputs as unknown as Inputs));
  if (!engine.isTapeOn()) return engine.tidy('checkpoint', () => ownResult(run(), new Set()));
  const running = whatRuns();
  const random = sameRandom((running?.kernels ?? activeKernels()).random);
  const inPrecision = running?.pipeline.capture() ?? ((compute) => compute());
  const first = firstRun(engine, inputs, run, random);
  const saved = [...first.taken.map(({ held }) => held), ...random.states];
  if (first.used.length === 0) dispose(saved);
  else engine.state.activeTape!.push(checkpointNode(engine, { ...first, run, saved, random, inPrecision }));
  return first.result as R;
}
