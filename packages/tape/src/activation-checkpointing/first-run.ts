import { dispose, type Tensor } from '@tensorflow/tfjs-core';
import type { EngineInternals } from '@acc/tfjs-internals';
import type { StandIn } from '../gradient-driver/packed-tensors.js';
import type { TapeParticipants } from '../gradient-driver/tape-participants.js';
import { contextOf, putContext } from '../gradient-driver/pass-context.js';
import { pathBetween } from '../gradient-driver/tape.js';
import type { Nested } from '../nested.js';
import { probeTape, type CapturedTensor } from './probe-tape.js';
import { madeBy, copiedResult, tensorsOf } from './results.js';
import type { SameRandom } from './same-random.js';

export interface FirstRun {
  readonly result: Nested;
  /** The tensors of {@link result}. */
  readonly outputs: readonly Tensor[];
  /** The outer tensors that were used. Their data is held. */
  readonly taken: readonly CapturedTensor[];
  /** Of variables among them that were packed. */
  readonly standIns: readonly StandIn[];
  /** The outer tensors that the outputs depend on. */
  readonly used: readonly Tensor[];
}

export interface FirstRunOptions {
  readonly engine: EngineInternals;
  readonly random: SameRandom;
  readonly participants: TapeParticipants | undefined;
}

/** Runs a function in the forward pass. Keeps nothing except the outer tensors that it used. */
export function firstRun(
  inputs: readonly Tensor[],
  run: () => Nested,
  { engine, random, participants }: FirstRunOptions,
): FirstRun {
  const { state } = engine;
  const tape = state.activeTape!;
  const { nodes, taken, standIns, take, end } = probeTape(engine, participants);
  putContext(nodes, contextOf(tape));
  try {
    state.activeTape = nodes;
    inputs.forEach(take);
    const result = engine.tidy('checkpoint', () => {
      const given = random.first(run);
      return copiedResult(given, madeBy(nodes));
    });
    const outputs = tensorsOf(result);
    const tensors = taken.map(({ tensor }) => tensor);
    const { uses } = pathBetween(nodes, tensors, outputs);
    return { result, outputs, taken, standIns, used: tensors.filter(({ id }) => uses.has(id)) };
  } catch (error) {
    dispose([...taken.flatMap(({ held }) => held ?? []), ...random.states]);
    for (const standIn of standIns) standIn.dispose();
    throw error;
  } finally {
    state.activeTape = tape;
    end();
  }
}
