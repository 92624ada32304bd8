import { backend, getBackend, type Tensor } from '@tensorflow/tfjs-core';
import type { RandomLayer } from '@acc/contract';
import { kernelLayerOf } from '@acc/kernels';
import { engineInternals } from '@acc/tfjs-internals';
import { installedHooks, type DriverHooks } from '../gradient-driver/driver.js';
import { addStandIns, freeSaved } from '../gradient-driver/packed-tensors.js';
import { contextOf } from '../gradient-driver/pass-context.js';
import type { Nested } from '../nested.js';
import { firstRun } from './first-run.js';
import { checkpointNode } from './recompute.js';
import { copiedResult } from './results.js';
import { sameRandom } from './same-random.js';

/**
 * Runs `fn(...inputs)` without keeping the tensors that its gradient needs. Backward runs `fn`
 * again from its inputs (Chen et al. 2016, "Training Deep Nets with Sublinear Memory Cost"). Values
 * and gradients are those of `fn` itself: the second run uses the same random numbers, the same
 * mixed precision and the same values of variables. Variables and outer tensors that `fn` uses are
 * detected and get their gradients. If no gradient is computed, `fn` just runs. Checkpoints may be
 * nested.
 *
 * `fn` runs in a tidy, twice. It must do the same in both runs, and must not have side effects. It
 * may assign variables; the assignments take effect once.
 *
 * @param fn Returns a tensor, or nested arrays and records of tensors. The caller, or its tidy,
 * owns them.
 * @throws AccError `ACC_NOT_A_TENSOR`, `ACC_CHECKPOINT_ASYNC` for other results. Backward throws
 * `ACC_CHECKPOINT_CHANGED` if `fn` returns other shapes or draws more random numbers than before.
 */
export function checkpoint<Inputs extends readonly Tensor[], R extends Nested>(
  fn: (...inputs: Inputs) => R,
  inputs: readonly [...Inputs],
): R {
  const engine = engineInternals();
  const run = () => fn(...(inputs as unknown as Inputs));
  if (!engine.isTapeOn()) return engine.tidy('checkpoint', () => copiedResult(run(), new Set()));
  const hooks = installedHooks();
  const random = sameRandom(randomOf(hooks));
  const inPrecision = hooks?.capture?.() ?? ((compute) => compute());
  const participants = hooks?.participants;
  const context = contextOf(engine.state.activeTape!);
  const first = firstRun(inputs, run, { engine, random, participants });
  const saved = [...first.taken.flatMap(({ held }) => held ?? []), ...random.states];
  const node = checkpointNode(engine, { ...first, run, saved, random, inPrecision, participants, context });
  addStandIns(node, first.standIns);
  if (first.used.length === 0) freeSaved(node);
  else engine.state.activeTape!.push(node);
  return first.result as R;
}

function randomOf(hooks: DriverHooks | undefined): RandomLayer | undefined {
  return hooks?.random ? hooks.random() : kernelLayerOf(getBackend(), backend()).random;
}
