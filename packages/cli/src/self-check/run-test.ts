import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { AccError } from '@acc/contract';
import { readConfiguration } from '@acc/config';
import { withConfigFile } from '../config/launch-flags.js';
import { hostSettings } from '../launch/host-settings.js';
import { completeOptions, type LaunchOptions } from '../launch/options.js';
import { placementOf } from '../launch/placement.js';
import { rankCommands } from '../launch/rank-commands.js';
import { runJob, type JobEnd } from '../launch/run-job.js';
import { nodeProgram } from '../launch/script.js';
import type { TestFlags } from './flags.js';
import { planFrom, type SelfCheckPlan } from './plan.js';
import { formatVerdict, readVerdict } from './verdict.js';

const PROGRAM = '@acc/core/self-check';
/** Brings the gradients and the backends of tfjs. */
const TFJS = '@tensorflow/tfjs';
/** A package that brings tfjs along. */
const TFJS_NODE = '@tensorflow/tfjs-node';

/**
 * Runs the self-check on ranks of this host, and prints a verdict.
 *
 * @returns 0, or 1 if a check failed; 130, 143 or 129 if interrupted.
 * @throws AccError `ACC_CORE_MISSING`, `ACC_TFJS_MISSING`; those of `acc launch` for options.
 */
export async function runTest(flags: TestFlags, env: NodeJS.ProcessEnv, cwd: string): Promise<number> {
  const { json: isJson = false, engine, ...launchFlags } = flags;
  const { nproc, threads, cpuBind, env: variables } = await launchOptionsFor(launchFlags, engine, env, cwd);
  const script = programOf(cwd);
  const tfjs = tfjsFor(cwd, dirname(script));
  const folder = mkdtempSync(join(tmpdir(), 'acc-test-'));
  try {
    const { options } = await readConfiguration({ ...env, ...variables }, cwd, flags.configFile);
    const check = { ...planFrom(options), folder, isJson, imports: [pathToFileURL(tfjs).href] };
    const end = await run({ script, nproc, threads, cpuBind, env: variables }, check, env);
    const verdict = readVerdict(folder, end);
    process.stdout.write(isJson ? `${JSON.stringify(verdict, undefined, 2)}\n` : formatVerdict(verdict));
    if (verdict.isInterrupted) return end.exitCode;
    return verdict.hasPassed ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The options of `acc launch` that the config file and the flags give. */
async function launchOptionsFor(
  flags: Omit<TestFlags, 'json' | 'engine'>,
  engine: string | undefined,
  env: NodeJS.ProcessEnv,
  cwd: string,
): Promise<Omit<LaunchOptions, 'script'>> {
  const options = (await withConfigFile(flags, env, cwd)) as Omit<LaunchOptions, 'script'>;
  if (engine === undefined) return options;
  const given = [options.env?.['ACC_COMMAND_LINE'], 'ACC_COLLECTIVE_ENGINE'].filter(Boolean).join();
  return {
    ...options,
    env: { ...options.env, ACC_COLLECTIVE_ENGINE: engine, ACC_COMMAND_LINE: given },
  };
}

async function run(
  options: LaunchOptions,
  check: SelfCheckPlan,
  env: NodeJS.ProcessEnv,
): Promise<JobEnd & { readonly ranks: number }> {
  const plan = completeOptions(options);
  const [program, host] = await Promise.all([
    nodeProgram(plan.script, [JSON.stringify(check)]),
    hostSettings(plan, env),
  ]);
  const place = await placementOf(plan, undefined);
  const commands = rankCommands(plan, place, host, program).map((rank) => ({ ...rank, isForeground: false }));
  const { worldSize: ranks } = place;
  const { script, graceMs } = plan;
  const end = await runJob({ script, commands, worldSize: ranks, prefix: false, graceMs, isPiped: true });
  return { ...end, ranks };
}

/** @throws AccError `ACC_CORE_MISSING`. */
function programOf(cwd: string): string {
  const found = resolved(PROGRAM, cwd) ?? resolved(PROGRAM, import.meta.dirname);
  if (found !== undefined) return found;
  throw new AccError('ACC_CORE_MISSING', `${PROGRAM} is not installed for ${cwd}.`, {
    help: 'Install it beside the program: npm install @acc/core @tensorflow/tfjs',
    details: { cwd },
  });
}

/**
 * The tfjs that the check trains with: that of the project, that of its tfjs-node, or the one beside
 * `@acc/core`.
 *
 * @throws AccError `ACC_TFJS_MISSING`.
 */
function tfjsFor(cwd: string, folderOfCore: string): string {
  const tfjsNode = resolved(TFJS_NODE, cwd);
  const folders = [cwd, ...(tfjsNode === undefined ? [] : [dirname(tfjsNode)]), folderOfCore];
  for (const folder of folders) {
    const found = resolved(TFJS, folder);
    if (found !== undefined) return found;
  }
  throw new AccError(
    'ACC_TFJS_MISSING',
    `${TFJS} is not installed for ${cwd}, and the test trains with it.`,
    {
      help: 'Run the test in the folder of your program, or install it here: npm install @acc/core @tensorflow/tfjs',
      details: { folders },
    },
  );
}

/** The file of a module, as a program in this folder finds it. */
function resolved(module: string, folder: string): string | undefined {
  try {
    return createRequire(join(folder, 'program.js')).resolve(module);
  } catch {
    return undefined;
  }
}
