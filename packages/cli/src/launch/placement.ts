import { randomBytes } from 'node:crypto';
import { chooseEndpoint } from './endpoint.js';
import type { Endpoint, LaunchPlan } from './options.js';

/** Which part of the job this host runs, and where its ranks meet the others. */
export interface Placement {
  readonly nnodes: number;
  readonly nodeRank: number;
  /** The rank of this host's first process. */
  readonly firstRank: number;
  readonly worldSize: number;
  readonly endpoint: Endpoint;
  /** Undefined: what the user set, if anything, stays. */
  readonly jobToken: string | undefined;
  /** To be called when the job has ended. */
  release(): Promise<void>;
}

/**
 * By the options alone, or by what hosts agree on through etcd.
 *
 * @param token What the user set.
 * @throws AccError `ACC_PORT_TAKEN`, `ACC_PORT_FORBIDDEN`; with etcd also those of `meetThroughEtcd`.
 */
export async function placementOf(plan: LaunchPlan, token: string | undefined): Promise<Placement> {
  if (plan.rendezvous) {
    const { meetThroughEtcd } = await import('./etcd.js');
    return meetThroughEtcd(plan, plan.rendezvous, token);
  }
  const { nnodes, nodeRank = 0, nproc } = plan;
  return {
    nnodes,
    nodeRank,
    firstRank: nodeRank * nproc,
    worldSize: nnodes * nproc,
    endpoint: await chooseEndpoint(plan),
    // Hosts that don't talk to each other before can't agree on a random one: there, it is the user's.
    jobToken: nnodes === 1 ? newToken() : undefined,
    release: async () => {},
  };
}

export function newToken(): string {
  return randomBytes(16).toString('hex');
}
