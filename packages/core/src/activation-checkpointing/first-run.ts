import { dispose, type Tensor } from '@tensorflow/tfjs-core';
import type { EngineInternals } from '@acc/tfjs-internals';
import { pathBetween } from '../gradient-driver/tape.js';
import type { Nested } from '../nested/nested.js';
import { probeTape, type Taken } from './probe-tape.js';
import { madeBy, ownResult, tensorsOf } from './results.js';
import type { SameRandom } from './same-random.js';

export interface FirstRun {
  readonly result: Nested;
  /** The tensors of {@link result}. */
  readonly outputs: readonly Tensor[];
  /** The outer tensors that were used. Their data is held. */
  readonly taken: readonly Taken[];
  /** The outer tensors that the outputs depend on. */
  readonly used: readonly Tensor[];
}

/** Runs a function in the forward pass. Keeps nothing except the outer tensors that it used. */
export function firstRun(
  engine: EngineInternals,
  inputs: readonly Tensor[],
  run: () => Nested,
  random: SameRandom,
): FirstRun {
  const { state } = engine;
  const tape = state.activeTape;
  const { nodes, taken, take, end } = probeTape(engine);
  try {
    state.activeTape = nodes;
    inputs.forEach(take);
    const result = engine.tidy('checkpoint', () => {
      const given = random.first(run);
      return ownResult(given, madeBy(nodes));
    });
    const outputs = tensorsOf(result);
    const tensors = taken.map(({ tensor }) => tensor);
    const { uses } = pathBetween(nodes, tensors, outputs);
    return { result, outputs, taken, used: tensors.filter(({ id }) => uses.has(id)) };
  } catch (error) {
    dispose([...taken.map(({ held }) => held), ...random.states]);
    throw error;
  } finally {
    state.activeTape = tape;
    end();
  }
}
