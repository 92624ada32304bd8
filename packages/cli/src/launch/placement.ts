import { chooseEndpoint } from './endpoint.js';
import type { LaunchPlan } from './options.js';
import { newToken, type Placement } from './share-of-host.js';

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
