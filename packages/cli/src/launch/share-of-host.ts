import { randomBytes } from 'node:crypto';
import type { Endpoint } from './options.js';

/** The part of the job that this host runs, and the address of rank 0. */
export interface Placement {
  readonly nnodes: number;
  readonly nodeRank: number;
  /** The rank of this host's first process. */
  readonly firstRank: number;
  readonly worldSize: number;
  readonly endpoint: Endpoint;
  /** Undefined: the user's variable remains, if any. */
  readonly jobToken: string | undefined;
  /** Called when the job has ended. */
  release(): Promise<void>;
}

/** The part of the job that a host runs, if hosts have these numbers of ranks, by node rank. */
export function shareOf(
  sizes: readonly number[],
  nodeRank: number,
): Pick<Placement, 'nnodes' | 'nodeRank' | 'firstRank' | 'worldSize'> {
  const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);
  return {
    nnodes: sizes.length,
    nodeRank,
    firstRank: sum(sizes.slice(0, nodeRank)),
    worldSize: sum(sizes),
  };
}

/** A random secret. */
export function newToken(): string {
  return randomBytes(16).toString('hex');
}
