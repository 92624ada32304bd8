import { availableParallelism } from 'node:os';
import { variableOf, type LAUNCH_OPTIONS, type OptionsOf } from '@acc/config';
import { AccError, withoutHelp } from '@acc/contract';
import { withConfigFile, type ConfigFlags } from '../config/launch-flags.js';
import { bindRanks } from '../launch/cpus/binding.js';
import { completeOptions, type LaunchOptions } from '../launch/options.js';
import { checkRanksOnHost } from '../launch/oversubscription.js';
import type { StudyPlan } from './study.js';

/** The variable that says where a run is recorded. */
export const PROJECT_DIR = variableOf({ name: 'projectDir' });

/** The options of the command, as commander gives them. */
export interface StudyFlags
  extends ConfigFlags, Pick<OptionsOf<typeof LAUNCH_OPTIONS>, 'threads' | 'oversubscribe' | 'cpuBind'> {
  readonly ranks: readonly number[];
  readonly weak?: boolean;
  readonly strong?: boolean;
  readonly turns: number;
  readonly output: string;
  readonly json?: boolean;
}

export interface StudyOrder extends StudyFlags {
  readonly script: string;
  readonly args: readonly string[];
}

/** The options that all runs of a study share. */
export interface StudySetup {
  readonly plan: StudyPlan;
  readonly launch: Omit<LaunchOptions, 'nproc'>;
}

/**
 * Also checks what the run on the most ranks needs, before the first one starts.
 *
 * @throws AccError of the config file, and of `acc launch` for options.
 */
export async function studySetup(
  order: StudyOrder,
  env: NodeJS.ProcessEnv,
  cwd: string,
): Promise<StudySetup> {
  const { script, args, ranks, turns, strong = false, ...flags } = order;
  const most = ranks.at(-1)!;
  checkMostRanks(most, flags.oversubscribe ?? false);
  const { configFile, mixedPrecision, gradientAccumulationSteps, strategy } = flags;
  const ofTraining = { configFile, mixedPrecision, gradientAccumulationSteps, strategy };
  // Absent flags must not hide options of the file.
  const ofRanks = {
    ...(flags.threads !== undefined && { threads: flags.threads }),
    ...(flags.cpuBind !== undefined && { cpuBind: flags.cpuBind }),
  };
  const given = (await withConfigFile({ ...ofTraining, ...ofRanks } as ConfigFlags, env, cwd)) as Pick<
    LaunchOptions,
    'threads' | 'cpuBind' | 'env'
  >;
  const cores = availableParallelism();
  const threads = given.threads ?? (Number(env['OMP_NUM_THREADS']) || Math.max(1, Math.floor(cores / most)));
  const kind = strong ? 'strong' : 'weak';
  const variables = { ...given.env, ...recordVariables(env, kind === 'strong', given.env ?? {}) };
  const launch = {
    // The number of ranks is checked above, and the report says where they share cores.
    ...{ script, args, threads, oversubscribe: true, env: variables },
    ...(given.cpuBind !== undefined && { cpuBind: given.cpuBind }),
  };
  bindRanks(completeOptions({ ...launch, nproc: most }).cpuBind, most);
  return { plan: { kind, script, args, turns, threads, cores }, launch };
}

/** @throws AccError `ACC_BAD_OPTION` that names the options of this command. */
function checkMostRanks(most: number, oversubscribe: boolean): void {
  try {
    checkRanksOnHost({ nproc: most, oversubscribe });
  } catch (cause) {
    const { code, message, details } = cause as AccError;
    throw new AccError(code, withoutHelp(message), {
      help: `Leave out numbers of ranks above ${String(details?.most)}. To start ${most} nevertheless: --oversubscribe.`,
      details: { ...details, option: '--ranks' },
      cause,
    });
  }
}

/**
 * Variables by which a program keeps records and shares out batches. A program that says otherwise about
 * batches is refused.
 */
function recordVariables(
  env: NodeJS.ProcessEnv,
  splitsBatches: boolean,
  { ACC_COMMAND_LINE: before }: Readonly<Record<string, string>>,
): Record<string, string> {
  const [logWith, splitBatches] = ['logWith', 'dataLoader.splitBatches'].map((name) => variableOf({ name }));
  return {
    [variableOf({ name: 'autoLog' })]: 'true',
    [logWith!]: env[logWith!] || 'jsonl',
    [splitBatches!]: String(splitsBatches),
    ACC_COMMAND_LINE: [before, splitBatches, PROJECT_DIR].filter(Boolean).join(),
  };
}
