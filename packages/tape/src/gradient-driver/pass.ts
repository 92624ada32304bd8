import type { Tensor } from '@tensorflow/tfjs-core';
import type { DriverHooks } from './driver.js';
import type { PassContext } from './pass-context.js';
import type { Path } from './tape.js';

/** The hooks of a forward pass and of its backward pass. */
export type PassHooks = Pick<DriverHooks, 'forward' | 'backward' | 'participants'>;

/** A forward pass and what it keeps. */
export interface Pass {
  readonly xs: readonly Tensor[];
  readonly outputs: readonly Tensor[];
  readonly path: Path;
  readonly hooks: PassHooks;
  readonly context: PassContext;
}
