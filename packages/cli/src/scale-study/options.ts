import { availableParallelism } from 'node:os';
import { variableOf, type LAUNCH_OPTIONS, type OptionsOf } from '@acc/config';
import { withConfigFile, type ConfigFlags } from '../config/launch-flags.js';
import type { LaunchOptions } from '../launch/options.js';
import type { StudyPlan } from './study.js';

/** The variable that says where a run is recorded. */
export const PROJECT_DIR = variableOf({ name: 'projectDir' });

/** The options of the command, as commander gives them. */
export interface StudyFlags
  extends ConfigFlags, Pick<OptionsOf<typeof LAUNCH_OPTIONS>, 'threads' | 'cpuBind'> {
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

/** @throws AccError of the config file. */
export async function studySetup(
  order: StudyOrder,
  env: NodeJS.ProcessEnv,
  cwd: string,
): Promise<StudySetup> {
  const { script, args, ranks, turns, strong = false, ...flags } = order;
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
  const threads =
    given.threads ?? (Number(env['OMP_NUM_THREADS']) || Math.max(1, Math.floor(cores / ranks.at(-1)!)));
  const kind = strong ? 'strong' : 'weak';
  const variables = { ...given.env, ...recordVariables(env, kind === 'strong', given.env ?? {}) };
  return {
    plan: { kind, script, args, turns, threads, cores },
    launch: {
      ...{ script, args, threads, env: variables },
      ...(given.cpuBind !== undefined && { cpuBind: given.cpuBind }),
    },
  };
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
