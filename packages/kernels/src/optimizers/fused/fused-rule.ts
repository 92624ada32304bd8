import type { Variable } from '@tensorflow/tfjs-core';
import type { SlotList } from '../slots.js';
import type { TensorList } from './foreach.js';
import type { StepPart } from './native-step.js';

/** How the optimizers of one tfjs class take a step natively. `O` is what the class has inside. */
export interface FusedRule<O> {
  /** The state that tfjs keeps for each variable, made as tfjs makes it. */
  slotLists(optimizer: O): SlotList[];
  /** Variables that count steps. */
  scalars?(optimizer: O): Variable[];
  /** Updates weights and state in place. `epsilon` is the backend's. */
  update(optimizer: O, part: StepPart, epsilon: number): void;
  /** Moves {@link scalars} on, whose own memory is `natives`, whether or not there was a gradient. */
  advance?(optimizer: O, natives: TensorList): void;
}
