import { randomBytes } from 'node:crypto';
import { chooseEndpoint } from './endpoint.js';
import type { Endpoint, LaunchPlan } from './options.js';

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

/**
 * Determines the placement from the options, or through etcd.
 *
 * @param token The token that the user set.
 * @throws AccError `ACC_PORT_TAKEN`, `ACC_PORT_FORBIDDEN`; with etcd also those of
 * `meetThroughEtcd`.
 */
export async function placementOf(plan: LaunchPlan, token: string | undefined): Promise<Placement> {
  if (plan.rendezvous) {
    const { meetThroughEtcd } = await import('./etcd.js');
    return meetThroughEtcd(plan, plan.rendezvous, token);
  }
  return {
    ...supposedPlacement(plan),
    endpoint: await chooseEndpoint(plan),
    // Without etcd, several hosts cannot agree on a random token, so the user must set one.
    jobToken: plan.nnodes === 1 ? newToken() : undefined,
    release: async () => {},
  };
}

/**
 * The placement as far as it is known before the start. A free port has the number 0, and the token
 * of one host is ''.
 */
export function supposedPlacement(plan: LaunchPlan): Omit<Placement, 'release'> {
  const { nnodes, nodeRank = 0, nproc, endpoint = { host: '127.0.0.1', port: 0 } } = plan;
  return {
    nnodes,
    nodeRank,
    firstRank: nodeRank * nproc,
    worldSize: nnodes * nproc,
    endpoint,
    jobToken: nnodes === 1 ? '' : undefined,
  };
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
