import type { NamedTensorMap } from '@tensorflow/tfjs-core';
import type { StrategyContext } from './strategy.js';

/** What a plugin learns about the step it is called in. */
export interface StepInfo {
  /** Optimizer steps taken so far in this process, from 0. */
  readonly step: number;
}

/**
 * Something that takes part in the steps of an Accelerator. Hooks fill named slots whose order core fixes; the order
 * of registration decides nothing but the order within one slot. An absent hook means that the plugin has no part there.
 */
export interface Plugin {
  readonly name: string;
  /** Called once by `Accelerator.create`. */
  attach?(context: StrategyContext): void;
  /**
   * Takes an object given to `prepare`: returns what `prepare` is to return for it, or undefined when the object
   * is not this plugin's. The object is the caller's; what is returned is, too.
   */
  claim?(object: unknown): unknown;
  /**
   * Slot `transform`: changes the reduced gradients in place before they are applied. A tensor that is replaced
   * in the record is disposed by the plugin.
   */
  transform?(grads: NamedTensorMap, info: StepInfo): void;
  /** Slot `afterStep`: the optimizer has applied the gradients. */
  afterStep?(info: StepInfo): void;
}

/** The hooks a plugin may have; core refuses others. */
export const PLUGIN_KEYS = ['name', 'attach', 'claim', 'transform', 'afterStep'] as const;
