import { scalar, tensor1d, tidy, type Variable } from '@tensorflow/tfjs-core';
import type { LayersModel } from '@tensorflow/tfjs-layers';
import { valuesOf } from '@acc/contract';
import { forwardRanksOf, type ForwardRanks } from '@acc/tape';
import { requireAgreement, type Ready } from './agreement.js';
import { newSeed } from './sampling.js';

/** Keeps this rank in step with others that compute the model together with it. */
export interface Together {
  /** The seed of the draws, if the program gives none. */
  readonly seed: number;
  /** The tokens that all ranks with these rows take: those of the first of them. */
  agreedTokens(own: readonly number[]): readonly number[];
  /** Whether another forward pass follows. @param isOpen Whether this rank's rows need it. */
  goesOn(isOpen: boolean): boolean;
  /** No pass follows. Releases weights that passes have gathered from other ranks. */
  end(): void;
}

/** The state with which a generation begins on this rank, and the ranks that it goes on with. */
export interface Begun extends Ready {
  readonly together: Together;
}

/**
 * Begins a generation on all ranks whose forward passes of the model communicate. All of them call
 * it.
 *
 * @param prepare Checks the arguments on this rank.
 * @throws AccError that of `prepare`; `ACC_GENERATION_REFUSED` if it threw on another rank;
 * `ACC_OPTIONS_DIFFER`, `ACC_BATCHES_DIFFER` if ranks with the same rows were given different ones.
 */
export function beginTogether(model: LayersModel, prepare: () => Ready): Begun {
  const ranks = forwardRanksOf(model.weights.map((weight) => weight.read() as unknown as Variable));
  if (!ranks) return { ...prepare(), together: alone() };
  const { ready, seed } = requireAgreement(ranks, prepare);
  return { ...ready, together: inStep(ranks, seed) };
}

function alone(): Together {
  return { seed: newSeed(), agreedTokens: (own) => own, goesOn: (isOpen) => isOpen, end: () => {} };
}

function inStep({ sameRows, all, release }: ForwardRanks, seed: number): Together {
  return {
    seed,
    agreedTokens(own) {
      if (sameRows.size === 1) return own;
      return [...valuesOf(tidy(() => sameRows.broadcast(tensor1d([...own], 'int32'), 0)))];
    },
    goesOn(isOpen) {
      // The rows of all ranks are then the same.
      if (all.size === sameRows.size) return isOpen;
      return tidy(() => all.allReduce(scalar(Number(isOpen)), 'max').dataSync()[0] === 1);
    },
    end: release,
  };
}
