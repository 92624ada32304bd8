import type { JoinedSizes, Recording } from '@acc/native';

/** What a rewrite of calls did. */
export interface FusedCalls {
  /** What was fused, and what not and why. */
  readonly explanation: string;
  /** See `Graph.elements`. Undefined if nothing was rewritten. */
  readonly elements?: readonly number[];
}

/** Native calls that recordings for several sizes replay. */
export class SealedCalls {
  #users = 1;

  constructor(
    readonly native: Recording,
    readonly fused: FusedCalls,
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
