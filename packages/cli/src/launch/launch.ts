import { AccError } from '@acc/contract';
import type { ElasticPlan } from './elastic/launch-elastic.js';
import type { FunctionLaunchOptions, ModuleFunction } from './function/launch-function.js';
import { describeCommands } from './dry-run.js';
import { atStart, hostSettings, type HostSettings } from './host-settings.js';
import { completeOptions, type LaunchOptions, type LaunchPlan } from './options.js';
import { requirePlatform } from './platform.js';
import { placementOf, supposedPlacement } from './placement.js';
import { pruneCompiled } from './prune-compiled.js';
import { rankCommands } from './rank-commands.js';
import { runJob, type JobEnd } from './run-job.js';
import { nodeProgram, resolveModule, resolveScript } from './script.js';

export type { FunctionLaunchOptions, ModuleFunction } from './function/launch-function.js';
export type { LaunchOptions } from './options.js';

/**
 * Runs a script on several ranks of this host, with the environment variables of torchrun. Restarts
 * the job after a rank fails, up to `maxRestarts` times. Writes to stdout and stderr of this
 * process, and handles its SIGINT, SIGTERM, SIGHUP and SIGUSR1. Leaves no process behind.
 *
 * @returns The exit code: 0 on success; the exit code of the first failed rank, where 128 + n means
 * signal n; 130, 143 or 129 if interrupted.
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_BAD_OPTION`, `ACC_MISSING_OPTION`,
 * `ACC_SCRIPT_NOT_FOUND`, `ACC_SCRIPT_NOT_FILE`, `ACC_SCRIPT_KIND`, `ACC_PORT_TAKEN`,
 * `ACC_PORT_FORBIDDEN`, `ACC_SPAWN_FAILED`, `ACC_PLATFORM_UNSUPPORTED`, `ACC_PROGRAM_MISSING`, `ACC_CPU_BIND`,
 * `ACC_LOG_NOT_WRITABLE`. With a range of hosts also `ACC_RENDEZVOUS_FAILED`,
 * `ACC_RENDEZVOUS_CONFLICT`, `ACC_JOB_TOKEN`. With etcd also `ACC_ETCD_MISSING`,
 * `ACC_ETCD_UNREACHABLE`, `ACC_NODE_RANK_TAKEN`, `ACC_RENDEZVOUS_FAILED`.
 */
export function launch(options: LaunchOptions): Promise<number>;
/**
 * Runs a function on several ranks of this host, each in a process of its own, for notebooks and
 * tests. The ranks get the function's source, so it imports what it needs inside of it, and uses no
 * variable from outside. With `{ module, export }` the ranks import a module and call what it
 * exports. Output of the ranks is written to stdout and stderr of this process.
 *
 * ```ts
 * const losses = await launch(
 *   async (rate: number) => {
 *     const { Accelerator } = await import('@acc/core');
 *     const accelerator = await Accelerator.create();
 *     return accelerator.processIndex * rate;
 *   },
 *   { numProcesses: 2, args: [0.1] },
 * );
 * ```
 *
 * @returns What the function returned on each rank, by rank: plain values, which are copied.
 * @throws AccError `ACC_LAUNCH_FAILED` if a rank failed, with its error as `cause`;
 * `ACC_LAUNCH_INTERRUPTED`, `ACC_LAUNCH_NESTED`; `ACC_FUNCTION_SOURCE`, `ACC_NOT_PLAIN`; those
 * of options as above. The cause has the code `ACC_FUNCTION_CLOSURE` if the function uses
 * variables from outside, and `ACC_EXPORT_MISSING` if the module does not export it.
 */
export function launch<Args extends readonly unknown[], Result>(
  fn: (...args: Args) => Result | Promise<Result>,
  options?: FunctionLaunchOptions<Args>,
): Promise<Result[]>;
export function launch(target: ModuleFunction, options?: FunctionLaunchOptions): Promise<unknown[]>;
export async function launch(
  target: LaunchOptions | ModuleFunction | ((...args: never[]) => unknown),
  options: FunctionLaunchOptions = {},
): Promise<unknown> {
  requirePlatform(process);
  if (typeof target !== 'function' && isOfScript(target)) return launchScript(target);
  const { launchFunction } = await import('./function/launch-function.js');
  return launchFunction(target, options, process.env);
}

/** In `LaunchOptions`, `module` says how the script is named. */
function isOfScript(target: LaunchOptions | ModuleFunction): target is LaunchOptions {
  return 'script' in target || !('module' in target);
}

async function launchScript(options: LaunchOptions): Promise<number> {
  const plan = completeOptions(options);
  const script = (options.module ? resolveModule : resolveScript)(plan.script, process.cwd());
  if (plan.dryRun) {
    process.stdout.write(await describeStart(plan, script));
    return 0;
  }
  if (isElastic(plan)) return runElastic(plan, script);
  const { maxRestarts } = plan;
  const host = hostSettings(plan, process.env);
  for (let restart = 0; ; restart++) {
    const restarts = { count: restart, failed: restart, max: maxRestarts };
    const settings = restart === 0 ? host : host.then((first) => atStart(first, restarts));
    const { exitCode, mayRestart } = await runOnce(plan, script, settings);
    if (!mayRestart || restart === maxRestarts) return exitCode;
    process.stderr.write(`acc: restarting the job: restart ${restart + 1} of ${maxRestarts}\n`);
  }
}

/** The token that the user set. */
function tokenOf({ env }: LaunchPlan): string | undefined {
  return { ...process.env, ...env }.ACC_JOB_TOKEN || undefined;
}

function isElastic(plan: LaunchPlan): plan is ElasticPlan {
  return plan.minNodes !== undefined;
}

async function runElastic(plan: ElasticPlan, script: string): Promise<number> {
  const token = tokenOf(plan);
  if (!token) {
    throw new AccError('ACC_MISSING_OPTION', 'A range of hosts needs the variable ACC_JOB_TOKEN.', {
      help: 'Set it to the same secret on every host, because the first host accepts further ones as long as the job runs.',
      details: { option: 'ACC_JOB_TOKEN' },
    });
  }
  const program = await nodeProgram(script, plan.args);
  const host = await hostSettings(plan, process.env);
  const { launchElastic } = await import('./elastic/launch-elastic.js');
  try {
    return await launchElastic(plan, program, host, token);
  } finally {
    pruneCompiled(host.job.compileCache);
  }
}

async function runOnce(plan: LaunchPlan, script: string, settings: Promise<HostSettings>): Promise<JobEnd> {
  // The first time, the host is examined while TypeScript is transpiled.
  const [program, host] = await Promise.all([nodeProgram(script, plan.args), settings]);
  const place = await placementOf(plan, tokenOf(plan));
  try {
    const commands = rankCommands(plan, place, host, program);
    const { prefix, graceMs } = plan;
    return await runJob({ script, commands, worldSize: place.worldSize, prefix, graceMs });
  } finally {
    await place.release();
    pruneCompiled(host.job.compileCache);
  }
}

/** The output of `--dry-run`. */
async function describeStart(plan: LaunchPlan, script: string): Promise<string> {
  const program = await nodeProgram(script, plan.args);
  const host = await hostSettings(plan, process.env);
  return describeCommands(rankCommands(plan, supposedPlacement(plan), host, program));
}
