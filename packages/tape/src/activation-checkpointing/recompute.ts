import { util, zeros, type Tensor, type TensorInfo } from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';
import { computingAgain } from '@acc/kernels';
import { reviveWith, type EngineInternals, type TapeNode } from '@acc/tfjs-internals';
import { freeUnused } from '../gradient-driver/driver.js';
import { putContext, type PassContext } from '../gradient-driver/pass-context.js';
import { pathBetween, type NodeComputedAgain } from '../gradient-driver/tape.js';
import type { TapeParticipants } from '../gradient-driver/tape-participants.js';
import { walkBackward } from '../gradient-driver/walk.js';
import type { Nested } from '../nested.js';
import type { FirstRun } from './first-run.js';
import type { CapturedTensor } from './probe-tape.js';
import { madeBy, copiedResult, tensorsOf } from './results.js';
import type { SameRandom } from './same-random.js';
import { withVariablesOf } from './same-variables.js';

/** A function that backward runs again. */
export interface Segment extends FirstRun {
  run(): Nested;
  /** The tensors that the node keeps until its gradient is computed. */
  readonly saved: Tensor[];
  readonly random: SameRandom;
  /** Runs a forward computation with the precision of the first run. */
  readonly inPrecision: <T>(compute: () => T) => T;
  readonly participants: TapeParticipants | undefined;
  /** The pass of the first run. */
  readonly context: PassContext;
}

/** One operator on the tape, whose gradient computes the segment again. */
export function checkpointNode(engine: EngineInternals, segment: Segment): NodeComputedAgain {
  const { used, outputs, saved } = segment;
  const inputs = Object.fromEntries(used.map((tensor, i) => [`${i}`, tensor]));
  return {
    id: engine.state.nextTapeNodeId++,
    kernelName: 'Checkpoint',
    isComputedAgain: true,
    inputs,
    outputs: [...outputs],
    saved,
    gradient: (dys, asked = Object.entries(inputs).filter(([, { dtype }]) => dtype === 'float32')) => {
      const grads = gradientsAgain(
        engine,
        segment,
        dys,
        asked.map(([, input]) => input),
      );
      return Object.fromEntries(
        asked.map(([name, { shape }], i) => [name, () => grads[i] ?? zeros(shape)] as const),
      );
    },
  };
}

/** The gradients of `xs`. Null for tensors that the given outputs do not depend on. */
function gradientsAgain(
  engine: EngineInternals,
  segment: Segment,
  dys: readonly (Tensor | null)[],
  xs: readonly Tensor[],
): (Tensor | null)[] {
  const { state } = engine;
  const outerTape = state.activeTape;
  const isOutermost = state.gradientDepth === 0;
  return engine.tidy('checkpoint', () => {
    revive(segment.taken);
    try {
      const { nodes, outputs } = tapeAgain(engine, segment);
      const path = pathBetween(nodes, xs, outputs);
      if (isOutermost) freeUnused(nodes, new Set(path.nodes.map(({ node }) => node)));
      const seeds = outputs.flatMap(({ id }, i): [number, Tensor][] => (dys[i] ? [[id, dys[i]]] : []));
      if (isOutermost) for (const output of outputs) output.dispose();
      const grads = walkBackward({
        engine,
        path,
        seeds: new Map(seeds),
        wanted: new Set(xs.map(({ id }) => id)),
        finals: new Map(),
        freesEarly: isOutermost,
        participants: segment.participants,
      });
      return xs.map(({ id }) => grads.get(id) ?? null);
    } finally {
      // Inside another gradient, the outer tape continues.
      if (isOutermost && state.activeTape !== outerTape) freeUnused(state.activeTape!, new Set());
      state.activeTape = outerTape;
    }
  });
}

/**
 * Runs the segment on its own tape. Inside another gradient, it runs at the end of the outer tape.
 */
function tapeAgain(engine: EngineInternals, segment: Segment): { nodes: TapeNode[]; outputs: Tensor[] } {
  const { run, random, inPrecision, taken, participants, context } = segment;
  const isOwnTape = engine.state.gradientDepth === 0;
  let nodes: TapeNode[] = [];
  const compute = () => {
    const tape = engine.state.activeTape!;
    const begin = tape.length;
    const given = computingAgain(() => inPrecision(run));
    const result = copiedResult(given, madeBy(tape.slice(begin)));
    nodes = tape.slice(begin);
    return result;
  };
  const taped = () =>
    engine.scopedRun(
      () => {
        engine.startTape();
        if (!isOwnTape) return;
        putContext(engine.state.activeTape!, context);
        participants?.packOn(engine.state.activeTape!);
      },
      () => engine.endTape(),
      () => engine.tidy('forward', () => (participants ? participants.forward(compute) : compute())),
    );
  const outputs = tensorsOf(withVariablesOf(taken, () => random.again(taped)));
  requireSame(segment.outputs, outputs);
  return { nodes, outputs };
}

/** Tensors of outside that were freed since live again, with the data that is held, in the scope of now. */
function revive(taken: readonly CapturedTensor[]): void {
  for (const { tensor, held } of taken) if (tensor.isDisposed && held) reviveWith(tensor, held);
}

function requireSame(before: readonly TensorInfo[], now: readonly TensorInfo[]): void {
  const isSame =
    before.length === now.length &&
    before.every(({ shape, dtype }, i) => util.arraysEqual(shape, now[i]!.shape) && dtype === now[i]!.dtype);
  if (isSame) return;
  throw new AccError(
    'ACC_CHECKPOINT_CHANGED',
    `A checkpointed function returned ${describe(before)} at first, but ${describe(now)} when it ran again.`,
    { help: 'Give checkpoint a function that does the same each time it is called with the same inputs.' },
  );
}

const describe = (tensors: readonly TensorInfo[]): string =>
  tensors.map(({ dtype, shape }) => `${dtype}[${shape.join()}]`).join(', ') || 'nothing';
