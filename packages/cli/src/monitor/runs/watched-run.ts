import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { AccError, isAccError } from '@acc/contract';
import { diagnose, formatError, missingRanks, type Diagnosis, type Facts } from '@acc/records';
import { CURVES } from '../curves/catalogue.js';
import { readPart } from './growing-file.js';
import { RankFigures } from './rank-figures.js';
import { RunLog } from './run-log.js';
import { AttachedJob, type AskedRun } from '../job/attached-job.js';
import { usualStepMs } from '../job/usual-step.js';
import { Windows } from '../job/windows.js';
import type { Problem } from '../server/answers.js';

const STEPS = /^steps-rank-(\d+)\.acc$/;
/** The verdict of a live run is not computed again sooner. */
const JUDGE_MS = 2000;
/** Curves of one chart, if ranks have one each. */
export const MOST_RANKS = 8;
/** Where a file of records has the version of its format. */
const VERSION_BYTES = 4;

/** A run whose records are read while it goes on. */
export class WatchedRun {
  /** `mnist/1`. */
  readonly name: string;
  /** The job, if requests may be sent to it. */
  readonly job: AttachedJob | undefined;
  readonly windows: Windows;
  readonly #runFolder: string;
  #ranks = new Map<number, RankFigures>();
  #log: RunLog;
  #error: AccError | undefined;
  #judged:
    { readonly at: number; readonly version: number; readonly result: Diagnosis | Problem } | undefined;
  #reading: Promise<boolean> | undefined;
  #version = 0;

  /**
   * @param id The name in addresses of the page.
   * @param folder The folder with the records.
   * @param isAttached Whether requests may be sent to the job.
   */
  constructor(
    readonly id: string,
    readonly folder: string,
    isAttached = false,
  ) {
    this.job = isAttached ? new AttachedJob(folder) : undefined;
    this.windows = new Windows(folder);
    this.#runFolder = basename(folder) === 'insight' ? dirname(folder) : folder;
    this.name = `${basename(dirname(this.#runFolder))}/${basename(this.#runFolder)}`;
    this.#log = new RunLog(this.#runFolder);
  }

  /** Grows with each change. 0: nothing was read yet. */
  get version(): number {
    return this.#version;
  }

  /** In the order of ranks. */
  get ranks(): readonly RankFigures[] {
    return [...this.#ranks.values()].sort((a, b) => a.rank - b.rank);
  }

  get facts(): Facts | undefined {
    return this.ranks.find(({ facts }) => facts)?.facts;
  }

  get log(): RunLog {
    return this.#log;
  }

  /** Why nothing more is read. Undefined: all is well. */
  get error(): AccError | undefined {
    return this.#error;
  }

  /** Records that are missing or damaged. */
  get problems(): readonly string[] {
    return [...this.ranks.flatMap(({ problems }) => problems), ...missingRanks(recordsOf(this))];
  }

  /**
   * Looks whether the records can be read. It is soon done, also with long ones.
   *
   * @throws AccError `ACC_RECORDS_FORMAT`, `ACC_RECORDS_MISSING`, `ACC_MONITOR_RUN_GONE`.
   */
  async check(): Promise<void> {
    try {
      for (const rank of await this.#rankNumbers()) {
        const path = join(this.folder, `steps-rank-${rank}.acc`);
        const error = formatError(await readPart(path, 0, VERSION_BYTES), path);
        if (error) throw error;
      }
    } catch (error) {
      throw errorOf(error, this.#runFolder);
    }
  }

  /** Reads what was written since the last call. A second call waits for the first one. */
  async read(): Promise<boolean> {
    this.#reading ??= this.#readAll().finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  /** The diagnosis of the last steps. */
  async verdict(): Promise<Diagnosis | Problem> {
    const last = this.#judged;
    const isFresh = last?.version === this.#version || (last && Date.now() - last.at < JUDGE_MS);
    if (last && isFresh) return last.result;
    const result = await this.#judge();
    this.#judged = { at: Date.now(), version: this.#version, result };
    return result;
  }

  async #judge(): Promise<Diagnosis | Problem> {
    if (this.#error) return problemOf(this.#error);
    try {
      return await diagnose({ ranks: recordsOf(this), problems: this.problems });
    } catch (error) {
      if (isAccError(error)) return problemOf(error);
      throw error;
    }
  }

  async #readAll(): Promise<boolean> {
    const before = this.#error?.message;
    let hasNew = false;
    try {
      hasNew = await this.#readRanks();
      const isAnswered = (await this.job?.refresh(progressOf(this))) ?? false;
      hasNew = (await this.windows.read()) || isAnswered || hasNew;
      this.#error = undefined;
    } catch (error) {
      this.#error = errorOf(error, this.#runFolder);
    }
    const isChanged = hasNew || this.#error?.message !== before || this.#version === 0;
    if (isChanged) this.#version++;
    return isChanged;
  }

  async #readRanks(): Promise<boolean> {
    const numbers = await this.#rankNumbers();
    const readers = [this.#log, ...this.#ranks.values()];
    const replaced = await Promise.all(readers.map((reader) => reader.wasReplaced()));
    if (replaced.includes(true)) {
      this.#ranks = new Map();
      this.#log = new RunLog(this.#runFolder);
    }
    for (const rank of numbers) if (!this.#ranks.has(rank)) this.#ranks.set(rank, this.#newRank(rank));
    const changes = [replaced.includes(true), await this.#log.read()];
    for (const rank of this.#ranks.values()) changes.push(await rank.read());
    return changes.includes(true);
  }

  async #rankNumbers(): Promise<number[]> {
    const names = await readdir(this.folder);
    const numbers = names.flatMap((name) => STEPS.exec(name)?.[1] ?? []).map(Number);
    return numbers.sort((a, b) => a - b);
  }

  /** The first rank has all curves, and the first {@link MOST_RANKS} have those in which ranks differ. */
  #newRank(rank: number): RankFigures {
    const before = [...this.#ranks.keys()].filter((other) => other < rank).length;
    const curves = CURVES.filter(({ isPerRank }) => before < (isPerRank ? MOST_RANKS : 1));
    return new RankFigures(this.folder, rank, curves);
  }
}

/** How far the job of a run is. */
export function progressOf({ ranks, facts }: Pick<WatchedRun, 'ranks' | 'facts'>): AskedRun {
  const step = Math.max(0, ...ranks.map(({ lastStep }) => lastStep?.step ?? 0));
  return {
    ranks,
    rankCount: facts?.ranks ?? ranks.length,
    step,
    stepMs: usualStepMs(ranks[0]?.recent.steps ?? []),
  };
}

const recordsOf = ({ ranks }: WatchedRun) => ranks.map(({ recent }) => recent);

function problemOf({ code, message }: AccError): Problem {
  return { code, message };
}

/** The error to show for what reading has thrown. */
function errorOf(error: unknown, folder: string): AccError {
  if (isAccError(error)) return error as AccError;
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT')
    return new AccError('ACC_MONITOR_RUN_GONE', `The folder ${folder} does not exist any more.`, {
      help: 'The page keeps the figures until acc monitor ends. Move the folder back, or start acc monitor with the new one.',
      cause: error,
    });
  return new AccError('ACC_RECORDS_MISSING', `${folder} cannot be read: ${message}.`, {
    help: 'Let this user read the folder of the run and the files in its folder insight.',
    cause: error,
  });
}
