import { availableParallelism } from 'node:os';
import { AccError } from '@acc/contract';
import { rankVariables, tensorflowThreads, threadsPerRank, type JobEnvironment } from './environment.js';
import { completeOptions, type LaunchOptions, type LaunchPlan } from './options.js';
import { placementOf } from './placement.js';
import type { RankCommand } from './rank-process.js';
import { runJob, type JobEnd } from './run-job.js';
import { nodeArguments, resolveScript } from './script.js';

export type { LaunchOptions } from './options.js';

/**
 * Runs a script on several ranks of this host, with the environment variables of torchrun. Restarts
 * the job after a rank fails, up to `maxRestarts` times. Writes to stdout and stderr of this
 * process, and handles its SIGINT, SIGTERM, SIGHUP and SIGUSR1. Leaves no process behind.
 *
 * @returns The exit code: 0 on success; the exit code of the first failed rank, where 128 + n means
 * signal n; 130, 143 or 129 if interrupted.
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_BAD_OPTION`, `ACC_MISSING_OPTION`,
 * `ACC_SCRIPT_NOT_FOUND`, `ACC_SCRIPT_NOT_FILE`, `ACC_PORT_TAKEN`, `ACC_PORT_FORBIDDEN`,
 * `ACC_SPAWN_FAILED`, `ACC_PLATFORM_UNSUPPORTED`. With etcd also `ACC_ETCD_MISSING`,
 * `ACC_ETCD_UNREACHABLE`, `ACC_NODE_RANK_TAKEN`, `ACC_RENDEZVOUS_FAILED`.
 */
export async function launch(options: LaunchOptions): Promise<number> {
  const plan = completeOptions(options);
  requireProcessGroups();
  const script = resolveScript(plan.script, process.cwd());
  const { maxRestarts } = plan;
  for (let restart = 0; ; restart++) {
    const { exitCode, mayRestart } = await runOnce(plan, script, restart);
    if (!mayRestart || restart === maxRestarts) return exitCode;
    process.stderr.write(`acc: restarting the job: restart ${restart + 1} of ${maxRestarts}\n`);
  }
}

async function runOnce(
  plan: LaunchPlan,
  script: ReturnType<typeof resolveScript>,
  restart: number,
): Promise<JobEnd> {
  const [programArguments, job] = await Promise.all([
    nodeArguments(script, plan.args),
    jobEnvironment(plan, process.env, restart),
  ]);
  const place = await placementOf(plan, process.env.ACC_JOB_TOKEN || undefined);
  try {
    const commands = Array.from({ length: plan.nproc }, (_, localRank): RankCommand => {
      const variables = rankVariables(place, plan.nproc, job, localRank);
      return {
        rank: Number(variables.RANK),
        nodeArguments: programArguments,
        env: { ...process.env, ...variables },
        isForeground: localRank === 0,
      };
    });
    return await runJob({ script, commands, worldSize: place.worldSize, prefix: plan.prefix });
  } finally {
    await place.release();
  }
}

function requireProcessGroups(): void {
  if (process.platform !== 'win32') return;
  throw new AccError(
    'ACC_PLATFORM_UNSUPPORTED',
    'acc launch needs process groups, which Windows does not have.',
    {
      help: 'Run it in the Windows Subsystem for Linux.',
    },
  );
}

async function jobEnvironment(
  plan: LaunchPlan,
  env: NodeJS.ProcessEnv,
  restart: number,
): Promise<JobEnvironment> {
  const threads = threadsPerRank(plan, env, availableParallelism());
  return {
    threads,
    tensorflowThreads: tensorflowThreads(threads, env),
    restarts: plan.maxRestarts > 0 ? { count: restart, max: plan.maxRestarts } : undefined,
    // Searched once for all ranks, because the search may start Python.
    libtorch: env.ACC_LIBTORCH ? undefined : await findLibtorchRoot(),
    networkInterface: plan.networkInterface,
  };
}

async function findLibtorchRoot(): Promise<string | undefined> {
  const { findLibtorch } = await import('@acc/native');
  return findLibtorch()?.root;
}
