import { fill, mul, ones, Tensor, util, type Scalar, type Variable } from '@tensorflow/tfjs-core';
import type { RandomLayer } from '@acc/contract';
import {
  engineInternals,
  patch,
  type EngineInternals,
  type GradientsFunction,
  type GradientsResult,
  type TapeNode,
} from '@acc/tfjs-internals';
import type { FindRanks, ForwardRanks } from './forward-ranks.js';
import { explainMissingKernel } from './missing-kernel.js';
import { freeSaved } from './packed-tensors.js';
import { contextOf } from './pass-context.js';
import { localInputsOf, pathBetween, requireDependence, requireLocalOnly } from './tape.js';
import type { TapeParticipants } from './tape-participants.js';
import { owned, walkBackward } from './walk.js';

/** The interface of one backward pass for its owner. */
export interface BackwardSession {
  /** Positions in `xs` of the variables whose gradients the session takes. */
  readonly indices: readonly number[];
  /** The factor that the gradient of the result starts with. */
  readonly weight: number;
  /** The same as a tensor, if the step is recorded and replays have other weights. */
  readonly weightInReplays?: Scalar | null | undefined;
  /** Reports that the gradient of `xs[index]` is final. The session takes it over. */
  ready(index: number, grad: Tensor): void;
  /** Returns the gradients of `indices`, in that order. The caller disposes them. */
  finish(): (Tensor | null)[];
}

export interface DriverHooks {
  /** Runs the forward pass of an outermost gradient computation. */
  forward?<T>(xs: readonly (Tensor | Variable)[], compute: () => T): T;
  /** The participants that act on each operator. Absent if there are none. */
  readonly participants?: TapeParticipants | undefined;
  /** Returns a function that runs a forward pass later as it would run now, for activation checkpoints. */
  capture?(): <T>(compute: () => T) => T;
  /**
   * The generator of the operators, for activation checkpoints. Undefined: only tfjs draws. Absent: that
   * of the active backend.
   */
  random?(): RandomLayer | undefined;
  /** Runs the backward pass of an outermost gradient computation. */
  backward?<T>(xs: readonly (Tensor | Variable)[], compute: () => T): T;
  /**
   * Called for each outermost gradient computation after `y` was computed. Undefined: the driver
   * does not take part in it.
   */
  begin(xs: readonly (Tensor | Variable)[], y: Tensor): BackwardSession | undefined;
}

/** The hooks of the installed drivers, in the order of installation. The last driver computes gradients. */
const installed = new Map<DriverHooks, FindRanks | undefined>();

/** The hooks of the driver that is installed. Undefined if gradients are tfjs's own. */
export const installedHooks = (): DriverHooks | undefined => [...installed.keys()].at(-1);

/**
 * Replaces `engine().gradients`, in which `optimizer.minimize`, `variableGrads`, `grads` and
 * `model.fit` end, by our own walk over the tape. Values and errors are the same. Returns a
 * function that restores tfjs's own method.
 *
 * @param ranks Answers {@link forwardRanksOf}. Default: this rank has all variables.
 */
export function installGradientDriver(hooks: DriverHooks, ranks?: FindRanks): () => void {
  const engine = engineInternals();
  const driven: GradientsFunction = (f, xs, dy, allowNoGradients = false) =>
    gradients(engine, hooks, f, xs, dy ?? null, allowNoGradients);
  const restore = patch(engine, 'gradients', 'gradients', () => driven);
  installed.set(hooks, ranks);
  return () => {
    installed.delete(hooks);
    restore();
  };
}

/**
 * The ranks that a forward pass of a model communicates with. A program whose inputs or number of
 * passes could differ between them compares these first.
 *
 * @param variables The weights of the model.
 * @returns Undefined if this rank has all weights, and computes for itself.
 */
export function forwardRanksOf(variables: readonly Variable[]): ForwardRanks | undefined {
  for (const find of installed.values()) {
    for (const variable of variables) {
      const found = find?.(variable);
      if (found) return found;
    }
  }
  return undefined;
}

function gradients(
  engine: EngineInternals,
  hooks: DriverHooks,
  f: () => Tensor,
  xs: Tensor[],
  dy: Tensor | null,
  allowNoGradients: boolean,
): GradientsResult {
  util.assert(xs.length > 0, () => 'gradients() received an empty list of xs.');
  if (dy !== null && dy.dtype !== 'float32') {
    throw new Error(`dy must have 'float32' dtype, but has '${dy.dtype}'`);
  }
  // Inside another gradient computation the tape continues, and its tensors are still needed.
  const isOutermost = engine.state.gradientDepth === 0;
  const { participants } = hooks;
  let tape: TapeNode[] = [];
  try {
    const y = engine.scopedRun(
      () => {
        engine.startTape();
        tape = engine.state.activeTape!;
        if (isOutermost) participants?.packOn(tape);
      },
      () => engine.endTape(),
      () => engine.tidy('forward', isOutermost && hooks.forward ? () => hooks.forward!(xs, f) : f),
    );
    util.assert(y instanceof Tensor, () => 'The result y returned by f() must be a tensor.');
    const held = localInputsOf(xs);
    requireLocalOnly(tape, xs, [y]);
    const path = pathBetween(tape, held, [y]);
    if (!allowNoGradients) requireDependence(path);
    const session = isOutermost ? hooks.begin(xs, y) : undefined;
    if (isOutermost) freeUnused(tape, new Set(path.nodes.map(({ node }) => node)));
    const weight = session?.weightInReplays ?? session?.weight ?? 1;
    const walk = (): (Tensor | null)[] => {
      const seed = seedOf(y, dy, weight);
      const options = {
        engine,
        path,
        seeds: new Map([[y.id, seed]]),
        wanted: new Set(held.map(({ id }) => id)),
        finals: takers(held, session),
        freesEarly: isOutermost,
        participants,
      };
      // The walk frees `seed`.
      const lossSeed = dy?.rank === 0 ? mul<Scalar>(dy, weight) : weight;
      const found = contextOf(tape).backward(isOutermost ? lossSeed : 0, () => walkBackward(options));
      return collect(engine, held, found, session);
    };
    const grads = engine.tidy('backward', session && hooks.backward ? () => hooks.backward!(xs, walk) : walk);
    return { value: y, grads };
  } catch (error) {
    throw isOutermost ? explainMissingKernel(error) : error;
  } finally {
    // Also after an error, for example in `f`. After an out-of-memory error this frees memory.
    if (isOutermost) {
      freeUnused(tape, new Set());
      engine.state.activeTape = null;
      participants?.end();
    }
  }
}

function takers(
  xs: readonly Tensor[],
  session: BackwardSession | undefined,
): ReadonlyMap<number, (grad: Tensor) => void> {
  return new Map(
    session?.indices.map((index) => [xs[index]!.id, (grad: Tensor) => session.ready(index, grad)]),
  );
}

/** The gradients in the order of `xs`: those of the session and those that the walk returned. */
function collect(
  engine: EngineInternals,
  xs: readonly Tensor[],
  found: ReadonlyMap<number, Tensor>,
  session: BackwardSession | undefined,
): (Tensor | null)[] {
  const byId = new Map<number, Tensor | null>(found);
  if (session) {
    // A gradient is left over if the result itself is one of the variables.
    for (const index of session.indices) {
      const grad = found.get(xs[index]!.id);
      if (grad) session.ready(index, owned(grad, { engine }));
    }
    session.finish().forEach((grad, k) => byId.set(xs[session.indices[k]!]!.id, grad));
  }
  return xs.map(({ id }) => byId.get(id) ?? null);
}

function seedOf(y: Tensor, dy: Tensor | null, weight: number | Scalar): Tensor {
  if (dy !== null) return weight === 1 ? dy : mul(dy, weight);
  if (typeof weight !== 'number') return mul(ones(y.shape), weight);
  return weight === 1 ? ones(y.shape) : fill(y.shape, weight);
}

/** Frees the tensors that were saved by operators outside of the backward path. */
export function freeUnused(tape: readonly TapeNode[], used: ReadonlySet<TapeNode>): void {
  for (const node of tape) {
    if (!used.has(node)) freeSaved(node);
  }
}
