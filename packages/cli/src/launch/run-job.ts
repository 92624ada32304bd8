import { constants } from 'node:os';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { SAVED_EXIT_CODE, withoutHelp } from '@acc/contract';
import pc from 'picocolors';
import { ErrorFolder, keepWholeErrors } from './error-folder.js';
import { Interruption, isStartedByNpx } from './interruption.js';
import type { Farewell } from './process-group.js';
import { RankProcess, type RankCommand, type RankExit, type RankSurroundings } from './rank-process.js';
import type { RescueFolder } from './rescue-folder.js';
import { findRootCause, type Failure } from './root-cause.js';
import { Screen } from './screen.js';
import { describeEnding, describeFailure, describeLateErrors, describeWaits } from './summary.js';
import { Watchdog } from './watchdog.js';

export interface Job {
  /** The program that the commands run. */
  readonly script: string;
  readonly commands: readonly RankCommand[];
  /** The number of ranks on all hosts together. */
  readonly worldSize: number;
  /** The time between the signal that ends ranks and SIGKILL, in milliseconds. */
  readonly graceMs: number;
  /**
   * Whether lines are marked with their rank. A single rank of a host uses the launcher's own
   * output without marks.
   */
  readonly prefix: boolean;
  /**
   * Whether a single rank's output passes through this process, too. A notebook shows only what its
   * own process writes. Default false.
   */
  readonly isPiped?: boolean;
  /** Whether a failure is only returned, and not written to stderr. Default false. */
  readonly isSilent?: boolean;
  /** Resolves to end the ranks from outside. Default: never. */
  readonly stop?: Promise<StopRequest>;
  /** Where ranks keep their state if the job is started again. Default: nowhere. */
  readonly rescues?: RescueFolder;
}

/** A request to end the ranks, because the job is restarted with other hosts. */
export interface StopRequest {
  /** Whether the ranks get time to save a checkpoint. */
  readonly isSaving: boolean;
}

/**
 * How long, after an interruption, the last output of the ranks waits for a reader that does not
 * read. In milliseconds.
 */
const OUTPUT_MS = 1_000;

/**
 * The time that a cluster manager gives a program after SIGTERM (KillWait of Slurm, grace period of
 * Kubernetes), in milliseconds. Ranks may save a checkpoint in this time, also after Ctrl-C.
 */
const SAVING_MS = 30_000;
const SAVING: Farewell = { signal: 'SIGTERM', graceMs: SAVING_MS, isToLeader: true };
const SAVING_SIGNALS: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT'];

const NO_WATCHDOG =
  'the watchdog does not run: if the launcher is killed with SIGKILL, the ranks keep running';

export interface JobEnd {
  /** The exit code of the launcher. */
  readonly exitCode: number;
  /** Whether a rank failed and nothing asked the job to end. */
  readonly mayRestart: boolean;
  /** Whether the ranks were ended by `stop`. */
  readonly isStopped: boolean;
  /** The failure that ended the job, if one did. */
  readonly failure: Failure | undefined;
}

/** Why a job ended. */
type Ending =
  | { readonly kind: 'completed' }
  | { readonly kind: 'failed'; readonly failure: Failure }
  | { readonly kind: 'interrupted'; readonly signal: NodeJS.Signals }
  | { readonly kind: 'stopped'; readonly isSaving: boolean };

/**
 * Runs the ranks until all have ended, one has failed, or the launcher is interrupted. Leaves no
 * process behind.
 *
 * @throws AccError `ACC_SPAWN_FAILED`.
 */
export async function runJob({ commands, ...job }: Job): Promise<JobEnd> {
  const isPlain = commands.length === 1 && !commands[0]!.logs && !job.isPiped;
  const prefix = job.prefix && commands.length > 1;
  const screen = isPlain ? undefined : new Screen(process.stdout, process.stderr);
  const hurry = new AbortController();
  const ranks: RankProcess[] = [];
  const interruption = new Interruption(
    () => hurry.abort(),
    () => ranks.forEach((rank) => rank.signal('SIGUSR1')),
    commands.some(({ env }) => isStartedByNpx(env)),
  );
  const { graceMs } = job;
  const watchdog = new Watchdog(graceMs, warnOnce(NO_WATCHDOG));
  const errors = ErrorFolder.create(watchdog);
  let ending: Ending | undefined;
  job.rescues?.begin();
  try {
    const surroundings = { screen, prefix, watchdog, graceMs, hurry: hurry.signal, errors };
    if (!(await startAll(commands, ranks, { surroundings, interruption }))) hurry.abort();
    ending = await findEnding(ranks, interruption, screen, job.stop);
    if (!job.isSilent) screen?.say(firstWords(ending, ranks));
    // A Ctrl-C while ranks are already being ended kills them at once.
    if (ending.kind !== 'interrupted') void interruption.first.then(() => hurry.abort());
  } finally {
    const isHurried = (): boolean => hurry.signal.aborted;
    await endRanks(ranks, { ending, screen, graceMs, rescues: job.rescues, isHurried });
    errors?.remove();
    watchdog.close();
    interruption.dispose();
  }
  if (!job.isSilent) process.stderr.write(lastWords(ending, ranks, job));
  const exits = await Promise.all(ranks.map(({ exited }) => exited));
  const failure = ending.kind === 'failed' ? ending.failure : undefined;
  return {
    exitCode: exitCode(ending, exits),
    mayRestart: failure !== undefined && !interruption.wasWarned,
    isStopped: ending.kind === 'stopped',
    failure,
  };
}

/** The message that a rank has failed, if others must still be ended, or who waited for whom until now. */
function firstWords(ending: Ending, ranks: readonly RankProcess[]): string {
  if (ending.kind === 'interrupted') return describeWaits(ranks);
  if (ending.kind !== 'failed' || !ranks.some(({ isRunning }) => isRunning)) return '';
  return describeEnding(ending.failure);
}

/**
 * Starts the ranks and adds them to `ranks`, until all have started or the launcher is interrupted.
 *
 * @returns Whether all have started.
 */
async function startAll(
  commands: readonly RankCommand[],
  ranks: RankProcess[],
  {
    surroundings,
    interruption,
  }: { readonly surroundings: RankSurroundings; readonly interruption: Interruption },
): Promise<boolean> {
  let isInterrupted = false;
  void interruption.first.then(() => (isInterrupted = true));
  for (const command of commands) {
    ranks.push(await RankProcess.start(command, surroundings));
    // Signals are handled between two turns of the event loop.
    await nextTurn();
    if (isInterrupted) return ranks.length === commands.length;
  }
  return true;
}

/** The message about errors, which names the file with the whole of them. */
function lastWords(
  ending: Ending,
  ranks: readonly RankProcess[],
  job: Pick<Job, 'worldSize' | 'script'>,
): string {
  if (ending.kind !== 'failed') {
    const when = ending.kind === 'completed' ? 'but ended with exit code 0' : 'while the job was being ended';
    const logPath = ranks.find(({ error }) => error)?.logPath;
    return describeLateErrors(ranks, when, logPath ?? keepWholeErrors(ranks));
  }
  const wholePath = ending.failure.rank.logPath ?? keepWholeErrors(ranks);
  return describeFailure(ending.failure, { ...job, wholePath });
}

interface EndOfRanks {
  readonly ending: Ending | undefined;
  readonly screen: Screen | undefined;
  readonly graceMs: number;
  readonly rescues: RescueFolder | undefined;
  /** Whether a further signal asked to end at once. */
  readonly isHurried: () => boolean;
}

/** Ends the ranks, and waits until their output was forwarded or nobody reads it. */
async function endRanks(
  ranks: readonly RankProcess[],
  { ending, screen, graceMs, rescues, isHurried }: EndOfRanks,
): Promise<void> {
  const farewell = farewellOf(ending, graceMs);
  const isLast = ending?.kind !== 'failed' && ending?.kind !== 'stopped';
  const isSaving = ending?.kind === 'stopped' && ending.isSaving;
  rescues?.announce(isLast ? 'end' : isSaving ? 'save' : 'rescue');
  // A rank that writes its state has as much time as one that saves a checkpoint.
  const mayKeep = (rank: RankProcess): boolean => !isLast && !!rescues?.isHeldBy(rank.pid);
  await Promise.all(ranks.map((rank) => rank.end(mayKeep(rank) ? SAVING : farewell)));
  const isHasty = (): boolean => ending?.kind === 'interrupted' || isHurried();
  const abandoning = setInterval(() => isHasty() && screen?.abandon(), OUTPUT_MS);
  await Promise.all(ranks.map((rank) => rank.finished()));
  clearInterval(abandoning);
}

function farewellOf(ending: Ending | undefined, graceMs: number): Farewell {
  if (ending?.kind === 'stopped' && ending.isSaving) return SAVING;
  if (ending?.kind !== 'interrupted' || ending.signal === 'SIGPIPE') return { signal: 'SIGTERM', graceMs };
  const { signal } = ending;
  return SAVING_SIGNALS.includes(signal) ? { ...SAVING, signal } : { signal, graceMs };
}

async function findEnding(
  ranks: readonly RankProcess[],
  interruption: Interruption,
  screen: Screen | undefined,
  stop: Promise<StopRequest> | undefined,
): Promise<Ending> {
  const endings: Promise<Ending>[] = [
    findRootCause(ranks).then((failure) => (failure ? { kind: 'failed', failure } : { kind: 'completed' })),
    interruption.first.then((signal) => ({ kind: 'interrupted', signal })),
  ];
  if (stop) endings.push(stop.then(({ isSaving }) => ({ kind: 'stopped', isSaving })));
  // The job ends like a program that writes to a closed pipe.
  if (screen) endings.push(screen.broken.then(() => ({ kind: 'interrupted', signal: 'SIGPIPE' })));
  return Promise.race(endings);
}

function exitCode(ending: Ending, exits: readonly RankExit[]): number {
  if (ending.kind === 'completed') return 0;
  if (ending.kind === 'failed') return failureCode(ending.failure);
  if (exits.every((exit) => exit.exitCode === SAVED_EXIT_CODE)) return SAVED_EXIT_CODE;
  if (ending.kind === 'stopped') return Math.max(...exits.map((exit) => exit.exitCode));
  return 128 + constants.signals[ending.signal];
}

/** A rank that failed may have exited with code 0, but not the ranks that failed because of it. */
function failureCode({ exit, others }: Failure): number {
  return [exit, ...others.map((other) => other.exit)].find(({ exitCode }) => exitCode !== 0)!.exitCode;
}

function warnOnce(message: string): (error: Error) => void {
  let warned = false;
  return (error) => {
    if (!warned) process.stderr.write(`${pc.yellow('acc:')} ${message} (${withoutHelp(error.message)})\n`);
    warned = true;
  };
}
