import { randomUUID } from 'node:crypto';
import { isAccError } from '@acc/contract';
import { portForbidden } from '../endpoint.js';
import { atStart, type HostSettings } from '../host-settings.js';
import type { Endpoint, LaunchPlan } from '../options.js';
import { shareOf } from '../share-of-host.js';
import { rankCommands } from '../rank-commands.js';
import { RescueFolder } from '../rescue-folder.js';
import { runJob, type JobEnd, type StopRequest } from '../run-job.js';
import type { Program } from '../script.js';
import { runAgent, type AgentEnd, type AgentOptions } from './agent.js';
import { Coordinator } from './coordinator.js';
import { listenEndpoint } from './first-host.js';
import type { Result, Round } from './messages.js';

export interface ElasticPlan extends LaunchPlan {
  readonly minNodes: number;
  readonly endpoint: Endpoint;
}

/**
 * Runs this host's part of an elastic job. The host of the endpoint keeps the job together.
 *
 * @param token The token that the user set.
 * @returns The exit code of the job.
 */
export async function launchElastic(
  plan: ElasticPlan,
  program: Program,
  host: HostSettings,
  token: string,
): Promise<number> {
  const { endpoint, nproc, minNodes, nnodes: maxNodes, hostTimeoutMs } = plan;
  const id = randomUUID();
  const coordinator = await startIfFirst(plan, token, id);
  const rescues = RescueFolder.create();
  const runRound = async (round: Round, stop: Promise<StopRequest>): ReturnType<AgentOptions['runRound']> =>
    resultOf(await runRanks(plan, round, { program, host, stop, rescues }));
  try {
    const end = await runAgent({
      ...{ id, endpoint, token, nproc, minNodes, maxNodes, hostTimeoutMs, runRound },
    });
    return tell(end);
  } catch (error) {
    if (!isAccError(error) || error.code !== 'ACC_RENDEZVOUS_LOST') throw error;
    return tell({ exitCode: 1, reason: `${error.code}: ${error.message}` });
  } finally {
    rescues.remove();
    await coordinator?.close();
  }
}

function tell({ exitCode, reason }: AgentEnd): number {
  if (reason) process.stderr.write(`acc: the job has ended: ${reason}\n`);
  return exitCode;
}

/** The coordinator, if this is the first host and none of its other agents is the first. */
async function startIfFirst(
  plan: ElasticPlan,
  token: string,
  ownId: string,
): Promise<Coordinator | undefined> {
  const own = await listenEndpoint(plan.endpoint);
  if (!own) return undefined;
  const { minNodes, nnodes: maxNodes, maxRestarts, lastCallMs, hostTimeoutMs } = plan;
  const options = { minNodes, maxNodes, maxRestarts, lastCallMs, hostTimeoutMs, token, ownId };
  try {
    return await Coordinator.start({ address: own.address, port: plan.endpoint.port }, options);
  } catch (cause) {
    // Another agent of this host keeps the job together.
    if ((cause as NodeJS.ErrnoException).code === 'EADDRINUSE') return undefined;
    throw portForbidden(plan.endpoint.port, cause);
  }
}

interface HostPart {
  readonly program: Program;
  readonly host: HostSettings;
  readonly stop: Promise<StopRequest>;
  readonly rescues: RescueFolder;
}

function runRanks(
  plan: ElasticPlan,
  round: Round,
  { program, host, stop, rescues }: HostPart,
): Promise<JobEnd> {
  const { restart, failures, maxRestarts, nodeRank, sizes, port } = round;
  const place = {
    ...shareOf(sizes, nodeRank),
    endpoint: { host: plan.endpoint.host, port },
    jobToken: undefined,
  };
  const restarts = { count: restart, failed: failures, max: maxRestarts };
  const commands = rankCommands(plan, place, atStart(host, restarts, rescues.path), program);
  const { script, prefix, graceMs } = plan;
  return runJob({ script, commands, worldSize: place.worldSize, prefix, graceMs, stop, rescues });
}

function resultOf({ exitCode, mayRestart, isStopped, failure }: JobEnd): Omit<Result, 'kind' | 'restart'> {
  if (exitCode === 0) return { outcome: 'completed', exitCode };
  if (isStopped) return { outcome: 'stopped', exitCode };
  return { outcome: failure && mayRestart ? 'failed' : 'left', exitCode };
}
