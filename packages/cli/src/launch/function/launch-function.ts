import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import { AccError, checkKeys } from '@acc/contract';
import { tsxOptions } from '@acc/transpile';
import { hostSettings } from '../host-settings.js';
import { completeOptions, type LaunchOptions, type LaunchPlan } from '../options.js';
import { placementOf } from '../placement.js';
import { rankCommands } from '../rank-commands.js';
import { runJob, type JobEnd } from '../run-job.js';
import { nodeOptions, type Program } from '../script.js';
import { howItEnded, OUT_OF_MEMORY_HELP } from '../summary.js';
import { readResult, writeCall, type FunctionCall, type ModuleTarget } from './call-files.js';
import { portableFunction } from './free-names.js';
import { requirePlain } from './plain-values.js';

/** A function that a module exports, for `launch`. */
export interface ModuleFunction {
  /** A file: URL, or a path from the working directory. JavaScript or TypeScript. */
  readonly module: string | URL;
  /** Default: `default`. */
  readonly export?: string;
}

export interface FunctionLaunchOptions<Args extends readonly unknown[] = readonly unknown[]> extends Pick<
  LaunchOptions,
  'threads' | 'oversubscribe' | 'prefix' | 'cpuBind' | 'logDir' | 'tee' | 'grace'
> {
  /** The number of ranks, all on this host; `auto`: one for each core. Default 1. */
  readonly numProcesses?: number | 'auto';
  /** The arguments of the function: plain values, which are copied. Default: none. */
  readonly args?: Args;
  /**
   * `import.meta.url` of the program. The function's own imports are relative to it. Default: the
   * working directory.
   */
  readonly url?: string | URL;
  /** Environment variables for the ranks in addition to those of this process. Default: none. */
  readonly env?: Readonly<Record<string, string>>;
}

const OF_LAUNCH = ['threads', 'oversubscribe', 'prefix', 'cpuBind', 'logDir', 'tee', 'grace'] as const;
const KEYS = ['numProcesses', 'args', 'url', 'env', ...OF_LAUNCH];
/** Set in the ranks, so that a module which launches while it is imported starts no further ranks. */
const MARK = 'ACC_IN_LAUNCHED_FUNCTION';

/** Runs a function on several ranks of this host. See `launch`. */
export async function launchFunction(
  target: ((...args: never[]) => unknown) | ModuleFunction,
  options: FunctionLaunchOptions,
  env: NodeJS.ProcessEnv,
): Promise<unknown[]> {
  checkKeys('launch', options, KEYS);
  if (env[MARK]) throw nested();
  requireOptions(options);
  const call = await functionCall(target, options);
  const folder = mkdtempSync(join(tmpdir(), 'acc-launch-'));
  try {
    writeCall(folder, call);
    const program = runnerProgram(call, folder);
    const given = Object.fromEntries(OF_LAUNCH.map((name) => [name, options[name]]));
    const plan = completeOptions({
      ...given,
      ...{ script: program.at(-2)!, nproc: options.numProcesses },
      env: { ...options.env, [MARK]: '1' },
    });
    const end = await run(plan, program, env);
    return resultsOf(folder, plan.nproc, end);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @throws AccError `ACC_BAD_OPTION`. */
function requireOptions({ numProcesses = 1, args = [], url }: FunctionLaunchOptions): void {
  if (numProcesses !== 'auto' && !(Number.isInteger(numProcesses) && numProcesses >= 1)) {
    throw wrong('numProcesses', numProcesses, "a whole number from 1, or 'auto'");
  }
  if (!Array.isArray(args)) throw wrong('args', args, 'an array');
  if (url !== undefined && !(URL.canParse(String(url)) && new URL(url).protocol === 'file:')) {
    throw wrong('url', url, 'a file: URL such as import.meta.url');
  }
}

function wrong(option: string, value: unknown, expected: string): AccError {
  return new AccError('ACC_BAD_OPTION', `launch: ${option} must be ${expected}, not ${inspect(value)}.`, {
    help: `Correct ${option}, or leave it out for its default.`,
    details: { option, value },
  });
}

async function run(plan: LaunchPlan, program: Program, env: NodeJS.ProcessEnv): Promise<JobEnd> {
  const host = await hostSettings(plan, env);
  const place = await placementOf(plan, undefined);
  // The ranks do not read stdin, which belongs to the program or notebook.
  const commands = rankCommands(plan, place, host, program).map((rank) => ({ ...rank, isForeground: false }));
  const { worldSize } = place;
  const { script, prefix, graceMs } = plan;
  return runJob({ script, commands, worldSize, prefix, graceMs, isPiped: true, isSilent: true });
}

async function functionCall(
  target: ((...args: never[]) => unknown) | ModuleFunction,
  { args = [], url }: FunctionLaunchOptions,
): Promise<FunctionCall> {
  args.forEach((argument, i) => requirePlain(argument, `argument ${i}`));
  const base = url === undefined ? join(process.cwd(), 'launched-function') : fileURLToPath(url);
  if (typeof target === 'function') return { target: await portableFunction(target), args, base };
  checkKeys('launch', target, ['module', 'export']);
  return { target: moduleTarget(target), args, base };
}

function moduleTarget({ module, export: name = 'default' }: ModuleFunction): ModuleTarget {
  const isUrl = module instanceof URL || module.startsWith('file:');
  return { module: isUrl ? String(module) : pathToFileURL(resolve(module)).href, export: name };
}

/** Node.js with the runner and its argument. TypeScript modules need tsx. */
function runnerProgram({ target, base }: FunctionCall, folder: string): Program {
  const runner = fileURLToPath(new URL('./launch/function/run-function.js', import.meta.url));
  const loader = tsxOptions('module' in target ? new URL(target.module).pathname : base);
  return [process.execPath, ...nodeOptions(runner), ...loader, runner, folder];
}

/** @throws AccError `ACC_LAUNCH_FAILED`, `ACC_LAUNCH_INTERRUPTED`. */
function resultsOf(folder: string, nproc: number, { exitCode, failure }: JobEnd): unknown[] {
  if (failure) throw failed(folder, failure);
  if (exitCode !== 0) {
    throw new AccError('ACC_LAUNCH_INTERRUPTED', `launch was interrupted (exit code ${exitCode}).`, {
      help: 'A signal ended it. Call launch again.',
      details: { exitCode },
    });
  }
  return Array.from({ length: nproc }, (_, rank) => {
    const result = readResult(folder, rank);
    if (result?.kind === 'returned') return result.value;
    throw new AccError('ACC_LAUNCH_FAILED', `Rank ${rank} ended before the function returned.`, {
      help: 'A launched function returns; it does not call process.exit.',
      details: { rank },
    });
  });
}

function failed(
  folder: string,
  { exit, rank: { stderrTail, error: report } }: NonNullable<JobEnd['failure']>,
): AccError {
  const { rank, exitCode, signal } = exit;
  const result = readResult(folder, rank);
  const details = { rank, exitCode };
  if (result?.kind !== 'threw') {
    return new AccError('ACC_LAUNCH_FAILED', `Rank ${rank} ${howItEnded(exit)}.`, {
      ...(signal === 'SIGKILL' && { help: OUT_OF_MEMORY_HELP }),
      details: { ...details, stderr: [...stderrTail, ...(report?.text.split('\n') ?? [])] },
    });
  }
  const { error: cause, code } = result;
  const message = cause instanceof Error ? cause.message : String(cause);
  if (cause instanceof Error && code !== undefined) Object.assign(cause, { code });
  return new AccError(
    'ACC_LAUNCH_FAILED',
    `Rank ${rank} threw${code === undefined ? '' : ` ${code}`}: ${message}`,
    {
      help: 'Correct the function. Its error is the cause of this one.',
      details: { ...details, code },
      cause,
    },
  );
}

function nested(): AccError {
  return new AccError('ACC_LAUNCH_NESTED', 'launch was called in a rank that launch has started.', {
    help: 'A rank imports the module of its function: call launch in another module than the function.',
  });
}
