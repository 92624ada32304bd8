import { mkdirSync, readdirSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { AccError, counted } from '@acc/contract';
import { diagnose, readRecords, stepTimes } from '@acc/records';
import { hostSettings } from '../launch/host-settings.js';
import { completeOptions } from '../launch/options.js';
import { placementOf } from '../launch/placement.js';
import { rankCommands } from '../launch/rank-commands.js';
import { runJob, type JobEnd } from '../launch/run-job.js';
import { nodeProgram, resolveScript } from '../launch/script.js';
import { describeFailure } from '../launch/summary.js';
import { checkBatches, checkRun } from './check-batches.js';
import { PROJECT_DIR, studySetup, type StudyOrder, type StudySetup } from './options.js';
import { summaryOf, writeReport, type ReportFiles } from './report.js';
import { middleOf, studyOf, type Study, type StudyRun } from './study.js';

/**
 * Runs a program on each number of ranks in turns, writes the report and prints the figures. A study that
 * ends early has a report of the runs before.
 *
 * @returns 0; 130, 143 or 129 if interrupted, or 75 if all ranks then saved a checkpoint.
 * @throws AccError `ACC_STUDY_RUN` with the error of the program, `ACC_STUDY_RECORDS`, `ACC_STUDY_BATCH`,
 * `ACC_STUDY_FOLDER`; those of `acc launch` for options.
 */
export async function runStudy(order: StudyOrder, env: NodeJS.ProcessEnv, cwd: string): Promise<number> {
  const setup = await studySetup(order, env, cwd);
  const script = resolveScript(order.script, cwd);
  const folder = newFolder(isAbsolute(order.output) ? order.output : join(cwd, order.output));
  const runs: StudyRun[] = [];
  const begun: BegunStudy = { setup, folder, runs };
  try {
    const exitCode = await runAll(order, { script, env, setup }, begun);
    if (exitCode !== 0) {
      process.stderr.write(`acc: the study was interrupted; ${await reportSoFar(order, begun)}\n`);
      return exitCode;
    }
  } catch (error) {
    process.stderr.write(`acc: the study ended early; ${await reportSoFar(order, begun)}\n`);
    throw error;
  }
  const { study, report } = await reported(begun);
  process.stdout.write(
    order.json
      ? `${JSON.stringify({ ...study, runs, report }, undefined, 2)}\n`
      : summaryOf(study, report, process.stdout),
  );
  return 0;
}

/** A study with the runs that have ended. */
interface BegunStudy {
  readonly setup: Pick<StudySetup, 'plan'>;
  readonly folder: string;
  /** Receives each run that can be compared with those before. */
  readonly runs: StudyRun[];
}

type Diagnosed = (folder: string) => Promise<Pick<Study, 'findings'>>;

/** @returns The exit code of an interrupted run. 0: all have ended. */
async function runAll(
  order: StudyOrder,
  { setup, ...program }: Pick<OneRun, 'script' | 'env'> & { readonly setup: StudySetup },
  { folder, runs }: BegunStudy,
): Promise<number> {
  for (const { ranks, turn } of turnsOf(order)) {
    process.stderr.write(`acc: ${counted(ranks, 'rank')}, turn ${turn} of ${order.turns}\n`);
    const ofRun = join(folder, `ranks-${ranks}`, `turn-${turn}`);
    const end = await runOnce(setup, { ...program, ranks, folder: ofRun });
    if (end.failure) throw failed(end, { ranks, turn, script: program.script });
    if (end.exitCode !== 0) return end.exitCode;
    const run = await recordedRun(ofRun, ranks, turn);
    checkRun(run);
    checkBatches(setup.plan.kind, [...runs, run]);
    runs.push(run);
  }
  return 0;
}

async function reported(
  { setup, folder, runs }: BegunStudy,
  unfinished?: string,
  diagnosed: Diagnosed = diagnose,
): Promise<{ study: Study; report: ReportFiles }> {
  const most = Math.max(...runs.map(({ ranks }) => ranks));
  const { findings } = await diagnosed(middleOf(runs.filter(({ ranks }) => ranks === most)).folder);
  const study = {
    ...studyOf(setup.plan, runs, findings),
    ...(unfinished !== undefined && { unfinished }),
  };
  return { study, report: writeReport(study, folder) };
}

/**
 * Writes a report of the runs before a study ended. Returns the end of a sentence about it.
 *
 * @param diagnosed Finds what holds back the run in a folder.
 */
export async function reportSoFar(
  order: Pick<StudyOrder, 'ranks' | 'turns'>,
  begun: BegunStudy,
  diagnosed?: Diagnosed,
): Promise<string> {
  const { folder, runs } = begun;
  if (new Set(runs.map(({ ranks }) => ranks)).size < 2)
    return `${folder} has ${counted(runs.length, 'finished run')} and no report, which takes two numbers of ranks`;
  const had = `${runs.length} of ${turnsOf(order).length} runs`;
  try {
    const { report } = await reported(begun, `The study ended early: this report has ${had}.`, diagnosed);
    return `${report.markdown} has the figures of ${had}`;
  } catch (error) {
    // The error that ended the study must be shown.
    return `its report cannot be written: ${(error as Error).message}`;
  }
}

/** Each turn has all numbers of ranks, every second turn the other way round. */
export function turnsOf({ ranks, turns }: Pick<StudyOrder, 'ranks' | 'turns'>) {
  return Array.from({ length: turns }, (_, i) => {
    const order = i % 2 === 0 ? ranks : ranks.toReversed();
    return order.map((count) => ({ ranks: count, turn: i + 1 }));
  }).flat();
}

/** @throws AccError `ACC_STUDY_FOLDER`. */
function newFolder(parent: string): string {
  try {
    mkdirSync(parent, { recursive: true });
    const numbers = readdirSync(parent).map((name) => (/^\d+$/.test(name) ? Number(name) : 0));
    const folder = join(parent, `${Math.max(0, ...numbers) + 1}`);
    mkdirSync(folder);
    return folder;
  } catch (cause) {
    throw new AccError(
      'ACC_STUDY_FOLDER',
      `The folder ${parent} cannot be written: ${(cause as Error).message}.`,
      { help: 'Choose another one with --output.', cause },
    );
  }
}

interface OneRun {
  readonly ranks: number;
  readonly script: string;
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
}

async function runOnce({ launch }: StudySetup, { ranks, script, folder, env }: OneRun): Promise<JobEnd> {
  const options = { ...launch, script, nproc: ranks, logDir: join(folder, 'logs') };
  const plan = completeOptions({ ...options, env: { ...launch.env, [PROJECT_DIR]: folder } });
  const [program, host] = await Promise.all([nodeProgram(script, plan.args), hostSettings(plan, env)]);
  const place = await placementOf(plan, undefined);
  const commands = rankCommands(plan, place, host, program).map((rank) => ({ ...rank, isForeground: false }));
  const { graceMs } = plan;
  return runJob({ script, commands, worldSize: ranks, prefix: false, graceMs, isSilent: true });
}

/** The error of the program is the end of the message. */
function failed(
  { failure }: JobEnd,
  { ranks, turn, script }: { readonly ranks: number; readonly turn: number; readonly script: string },
): AccError {
  const { rank } = failure!;
  const error = describeFailure(failure!, { worldSize: ranks, script, wholePath: rank.logPath });
  return new AccError(
    'ACC_STUDY_RUN',
    `The program failed on ${counted(ranks, 'rank')}, in turn ${turn}:\n${error.trimEnd()}`,
    { details: { ranks, turn } },
  );
}

/** @throws AccError `ACC_STUDY_RECORDS` unless the program kept the records of one run. */
async function recordedRun(folder: string, ranks: number, turn: number): Promise<StudyRun> {
  const runs = runsIn(join(folder, 'runs'));
  if (runs.length !== 1) {
    const what = runs.length === 0 ? 'kept no records' : `kept records of ${runs.length} runs`;
    throw new AccError('ACC_STUDY_RECORDS', `The program ${what} on ${counted(ranks, 'rank')}.`, {
      help: "Call await accelerator.initTrackers('study') once, before the loop. The study switches autoLog on, unless the program switches it off.",
      details: { ranks, runs },
    });
  }
  const recorded = await readRecords(runs[0]!);
  return { ranks, turn, folder: runs[0]!, times: stepTimes(recorded) };
}

/** The folders of runs with records: `runs/<project>/<id>`. */
function runsIn(folder: string): string[] {
  return foldersIn(folder)
    .flatMap(foldersIn)
    .filter((run) => foldersIn(run).includes(join(run, 'insight')));
}

function foldersIn(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name));
  } catch {
    return [];
  }
}
