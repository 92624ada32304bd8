import type { Variable } from '@tensorflow/tfjs-core';
import type { SlotList } from '../slots.js';
import type { TensorList } from '../../list-math/foreach.js';
import type { StepChunk } from './native-step.js';

/**
 * How the optimizers of one tfjs class take a step natively. `O` is the type of the class's private
 * fields.
 */
export interface FusedRule<O> {
  /** The state that tfjs keeps for each variable, created as tfjs creates it. */
  slotLists(optimizer: O): SlotList[];
  /** Variables that depend on the number of steps. */
  scalars?(optimizer: O): Variable[];
  /** Updates weights and state in place. `epsilon` is that of the backend. */
  update(optimizer: O, chunk: StepChunk, epsilon: number): void;
  /**
   * Advances {@link scalars} by one step, in their native memory `natives`. Called even if there
   * was no gradient.
   */
  advance?(optimizer: O, natives: TensorList): void;
}
