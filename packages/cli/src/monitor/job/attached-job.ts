import { randomInt } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Facts } from '@acc/records';
import type { AskedNow, JobDetails, RankStack } from '../server/answers.js';
import { Asks, type Request } from './asks.js';
import { isAlive, isStopped } from './processes.js';
import { stackOf } from './stack-of.js';

/** A run that is asked, and how far it is. */
export interface AskedRun {
  readonly ranks: readonly {
    readonly rank: number;
    readonly facts: Facts | undefined;
    readonly lastTime: number;
  }[];
  readonly rankCount: number;
  readonly step: number;
  /** The usual time of the last steps, in milliseconds. Undefined: there were none. */
  readonly stepMs: number | undefined;
}

const MOST_ID = 0x7fff_ffff;
/** Ranks read requests every 250 ms, and steps are known here as late. */
const NOTICE_MS = 2000;
const LEAST_MARGIN = 2;
/** A rank that came too late to a window comes earlier to one with twice the margin. */
const MOST_TRIES = 3;
/** A rank waits for its inspector for at most seven seconds. */
const STACKS_MS = 15_000;
/** For a window: since the last sign that a rank of it lives. */
const SILENT_MS = 15_000;
/** Ranks end a window at almost the same time. */
const OTHERS_MS = 30_000;

interface Pending {
  readonly id: number;
  readonly request: Request;
  readonly since: number;
  readonly tries: number;
  /** When the first rank answered. */
  firstAt: number | undefined;
}

/** Asks a running job for the stacks of its ranks, or for its next steps. One request at a time. */
export class AttachedJob {
  readonly #asks: Asks;
  #pending: Pending | undefined;
  #stacks: JobDetails['stacks'];
  #problem: string | undefined;
  /** Whether the page does not know of the last request yet. */
  #isNew = false;

  /** @param insight The folder with the records. */
  constructor(private readonly insight: string) {
    this.#asks = new Asks(insight);
  }

  get details(): Omit<JobDetails, 'isRunning'> {
    return { asked: this.#asked, stacks: this.#stacks, problem: this.#problem };
  }

  /** @returns Why nothing is asked. Undefined: it is. */
  async askStacks(): Promise<string | undefined> {
    return this.#ask({ ask: 'stacks' }, 1);
  }

  /** Asks for the next steps. @returns Why not. */
  async askWindow(run: AskedRun, steps: number, tries = 1): Promise<string | undefined> {
    if (run.stepMs === undefined)
      return 'The job has taken no two steps yet. Ask for the stacks of its ranks.';
    const margin = Math.max(LEAST_MARGIN, Math.ceil(NOTICE_MS / Math.max(run.stepMs, 0.01)));
    return this.#ask({ ask: 'window', fromStep: run.step + margin * 2 ** (tries - 1), steps }, tries);
  }

  /** Looks for answers. @returns Whether something is new. */
  async refresh(run: AskedRun): Promise<boolean> {
    const pending = this.#pending;
    const isNew = this.#isNew;
    this.#isNew = false;
    if (!pending) return isNew;
    const isAnswered =
      pending.request.ask === 'stacks'
        ? await this.#takeStacks(run, pending)
        : await this.#takeWindow(run, pending);
    return isNew || isAnswered;
  }

  /** Takes back a request that was not answered. */
  async close(): Promise<void> {
    if (this.#pending) await this.#asks.clear(this.#pending.id);
  }

  get #asked(): AskedNow | undefined {
    if (!this.#pending) return undefined;
    const { request } = this.#pending;
    return request.ask === 'stacks' ? { ask: 'stacks' } : { ask: 'window', fromStep: request.fromStep };
  }

  async #ask(request: Request, tries: number): Promise<string | undefined> {
    const before = this.#pending;
    // A job that hangs takes no further step. Its stacks are asked for all the same.
    const isBusy = before && (before.request.ask === 'stacks' || request.ask === 'window');
    if (isBusy && tries === 1) return 'The job has not answered the last request yet.';
    const id = randomInt(1, MOST_ID);
    // Before the request is written: a second click comes meanwhile.
    this.#pending = { id, request, since: Date.now(), tries, firstAt: undefined };
    try {
      await this.#asks.write(id, request);
      this.#problem = undefined;
      this.#isNew = true;
      return undefined;
    } catch (error) {
      this.#pending = undefined;
      return `The request cannot be written: ${(error as Error).message}.`;
    }
  }

  async #takeStacks(run: AskedRun, { id, since }: Pending): Promise<boolean> {
    const answers = await this.#asks.stacks(id);
    if (this.#pending?.id !== id) return false;
    if (answers.size < run.rankCount && Date.now() - since < STACKS_MS) return false;
    const numbers = Array.from({ length: run.rankCount }, (_, rank) => rank);
    const ranks = numbers.map((rank): RankStack => {
      const answer = answers.get(rank);
      return (answer && stackOf(rank, answer)) ?? { rank, silent: reasonOf(run, rank) };
    });
    this.#stacks = { at: Date.now(), ranks };
    await this.#end(undefined);
    return true;
  }

  async #takeWindow(run: AskedRun, pending: Pending): Promise<boolean> {
    const answers = await this.#asks.windows(pending.id);
    // Meanwhile, the stacks may have been asked for.
    if (this.#pending !== pending) return false;
    if (answers.size > 0) pending.firstAt ??= Date.now();
    if (answers.size < run.rankCount && !isOver(run, pending)) return false;
    const isLate = [...answers.values()].some(({ state }) => state === 'late');
    if (isLate) await this.#askAgain(run, pending);
    else await this.#end(windowProblem(run, answers));
    const isEmpty = [...answers.values()].every(({ state }) => state !== 'done');
    if (isEmpty) await this.#removeWindow(pending.id);
    return true;
  }

  async #askAgain(run: AskedRun, { id, request, tries }: Pending): Promise<void> {
    await this.#removeWindow(id);
    await this.#asks.clear(id);
    // Meanwhile, the stacks may have been asked for.
    if (this.#pending?.id !== id) return;
    const steps = request.ask === 'window' ? request.steps : 1;
    const refusal =
      tries < MOST_TRIES
        ? await this.askWindow(run, steps, tries + 1)
        : 'A rank got the request after the step with which the window begins. Ask again.';
    if (refusal !== undefined) await this.#end(refusal);
  }

  async #removeWindow(id: number): Promise<void> {
    await rm(join(this.insight, 'windows', String(id)), { recursive: true, force: true });
  }

  async #end(problem: string | undefined): Promise<void> {
    const id = this.#pending?.id;
    this.#pending = undefined;
    this.#problem = problem;
    if (id !== undefined) await this.#asks.clear(id);
  }
}

/** Whether nothing more is to be waited for. */
function isOver({ ranks }: AskedRun, { since, firstAt }: Pending): boolean {
  const now = Date.now();
  if (firstAt !== undefined) return now - firstAt > OTHERS_MS;
  return now - Math.max(since, ...ranks.map(({ lastTime }) => lastTime)) > SILENT_MS;
}

function windowProblem(
  run: AskedRun,
  answers: ReadonlyMap<number, Readonly<Record<string, unknown>>>,
): string | undefined {
  const failures = [...answers].flatMap(([rank, { state, message }]) =>
    state === 'done' ? [] : [`rank ${rank}: ${String(message)}`],
  );
  for (let rank = 0; rank < run.rankCount; rank++)
    if (!answers.has(rank)) failures.push(`rank ${rank}: ${reasonOf(run, rank)}`);
  return failures.length > 0 ? failures.join(' ') : undefined;
}

/** Why a rank gives no answer, as far as it is known. */
function reasonOf({ ranks }: AskedRun, rank: number): string {
  const { host, pid } = ranks.find((each) => each.rank === rank)?.facts ?? {};
  if (host === undefined) return 'Its records are not in this folder, so it does not see the request.';
  if (pid === undefined) return 'It runs an earlier release, which takes no requests.';
  if (host !== hostname())
    return `It runs on ${host}, and has not answered: it sees a request only on a shared disk.`;
  if (!isAlive(pid)) return `Its process ${pid} has ended.`;
  if (isStopped(pid))
    return `Its process ${pid} is stopped, by Ctrl-Z or a debugger. kill -CONT ${pid} lets it go on.`;
  return `Its process ${pid} runs, and has not answered.`;
}
