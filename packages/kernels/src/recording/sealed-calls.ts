import type { JoinedSizes, Recording } from '@acc/native';
import type { CallFacts } from '../fusion/call-facts.js';
import type { StepExplanation } from './step-explanation.js';

/** The result of a rewrite of calls. */
export interface FusedCalls {
  /** A report on the calls that were fused, and on those that were not and why. */
  readonly lines: readonly string[];
  /** Undefined if the calls are those that were recorded. */
  readonly calls?: readonly CallFacts[];
  /** See `Graph.elements`. Undefined if the calls are those that were recorded. */
  readonly elements?: readonly number[];
}

/** Native calls that recordings for several sizes replay. */
export class SealedCalls {
  #users = 1;

  constructor(
    readonly native: Recording,
    readonly explanation: StepExplanation,
    /** See `Graph.elements`. */
    readonly elements: readonly number[] | undefined,
  ) {}

  /** Adds a user with other sizes. Undefined if the calls differ in more than numbers. */
  join(recording: Recording): JoinedSizes | undefined {
    const joined = this.native.join(recording);
    if (joined) this.#users++;
    return joined;
  }

  /** Releases a user, which has these sizes. The last one frees the calls. */
  release(sizes: number): void {
    if (--this.#users === 0) this.native.dispose();
    else if (sizes !== 0) this.native.releaseSizes(sizes);
  }
}
