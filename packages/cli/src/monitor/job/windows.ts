import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { DrawnWindow, WindowMemory, WindowSummary } from '../server/answers.js';
import { answersIn } from './asks.js';
import { drawWindow, parseTrace, type RankTrace } from './timeline.js';

/** Windows of a run that are shown, the newest ones. */
const MOST_WINDOWS = 20;
/** Ranks of a window that are drawn. The trace for Perfetto has all. */
export const DRAWN_RANKS = 8;

interface RankWindow {
  readonly rank: number;
  readonly begin: number;
  readonly ends: readonly number[];
  readonly memory: Omit<WindowMemory, 'rank'> | undefined;
}

interface Known {
  /** Undefined: its figures are torn or absent. */
  readonly ranks: readonly RankWindow[];
  /** The time of the folder, and when it was first seen with that time. */
  readonly changedAt: number;
  readonly seenAt: number;
  readonly isSettled: boolean;
}

/** Two changes within the clock of a file system give a folder the same time, so it is read once more. */
const SETTLED_MS = 1000;

/** The windows of steps in the folder of a run's records. */
export class Windows {
  readonly #folder: string;
  readonly #known = new Map<number, Known>();
  #open: { readonly id: number; readonly traces: readonly RankTrace[] } | undefined;

  constructor(insight: string) {
    this.#folder = join(insight, 'windows');
  }

  /** The newest one first. */
  get summaries(): WindowSummary[] {
    const all = [...this.#known].flatMap(([id, { ranks }]) =>
      ranks.length > 0 ? [summaryOf(id, ranks)] : [],
    );
    return all.sort((a, b) => b.at - a.at).slice(0, MOST_WINDOWS);
  }

  /** Reads windows that are new. @returns Whether there are some. */
  async read(): Promise<boolean> {
    const names = await readdir(this.#folder).catch(() => []);
    const changes = await Promise.all(names.filter(isId).map((name) => this.#readOne(Number(name))));
    return changes.includes(true);
  }

  /** A part of a window, for so many columns of pixels. Undefined: there is no such window. */
  async draw(
    id: number,
    view: { from?: number; to?: number; width: number },
  ): Promise<DrawnWindow | undefined> {
    const known = this.#known.get(id);
    if (!known || known.ranks.length === 0) return undefined;
    const traces = await this.#traces(id, known.ranks);
    const { at, ms } = summaryOf(id, known.ranks);
    const { from = 0, to = ms, width } = view;
    return drawWindow(traces, { origin: at, from, to, width }, ms);
  }

  /** The memory of a rank by owner. Undefined: it is not known. */
  memory(id: number, rank: number): WindowMemory | undefined {
    const ranks = this.#known.get(id)?.ranks ?? [];
    const found = ranks.find((each) => each.rank === rank);
    if (!found?.memory) return undefined;
    const { at } = summaryOf(id, ranks);
    return { rank, ...found.memory, at: found.memory.at.map((time) => time - at) };
  }

  /** The traces of all ranks in Perfetto's format, one after the other, which is a trace of all of them. */
  async perfetto(id: number): Promise<Buffer | undefined> {
    const ranks = this.#known.get(id)?.ranks ?? [];
    if (ranks.length === 0) return undefined;
    return Buffer.concat(
      await Promise.all(ranks.map(({ rank }) => readFile(this.#path(id, rank, 'pftrace')))),
    );
  }

  async #readOne(id: number): Promise<boolean> {
    const folder = join(this.#folder, String(id));
    const changedAt = (await stat(folder).catch(() => undefined))?.mtimeMs ?? 0;
    const known = this.#known.get(id);
    const isSame = known?.changedAt === changedAt;
    if (isSame && known.isSettled) return false;
    const now = Date.now();
    const seenAt = isSame ? known.seenAt : now;
    const isSettled = now - seenAt > SETTLED_MS;
    const answers = await answersIn(folder, /^rank-(\d+)\.json$/);
    const ranks = [...answers].flatMap(([rank, answer]) => rankWindowOf(rank, answer));
    ranks.sort((a, b) => a.rank - b.rank);
    this.#known.set(id, { ranks, changedAt, seenAt, isSettled });
    const isNew = ranks.length > (known?.ranks.length ?? 0);
    if (isNew && this.#open?.id === id) this.#open = undefined;
    return isNew;
  }

  async #traces(id: number, ranks: readonly RankWindow[]): Promise<readonly RankTrace[]> {
    if (this.#open?.id === id) return this.#open.traces;
    const traces: RankTrace[] = [];
    for (const { rank } of ranks.slice(0, DRAWN_RANKS))
      traces.push(parseTrace(rank, await readFile(this.#path(id, rank, 'json'), 'utf8')));
    this.#open = { id, traces };
    return traces;
  }

  #path(id: number, rank: number, extension: string): string {
    return join(this.#folder, String(id), `trace-rank-${rank}.${extension}`);
  }
}

const isId = (name: string): boolean => /^[1-9]\d{0,9}$/.test(name);

/** None if the answer is torn, or says that there is no window. */
function rankWindowOf(rank: number, answer: Readonly<Record<string, unknown>>): RankWindow[] {
  const { state, begin, ends, memory } = answer;
  if (state !== 'done' || typeof begin !== 'number' || !isNumbers(ends) || ends.length === 0) return [];
  return [{ rank, begin, ends, memory: memory as RankWindow['memory'] }];
}

function isNumbers(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'number');
}

function summaryOf(id: number, ranks: readonly RankWindow[]): WindowSummary {
  const at = Math.min(...ranks.map(({ begin }) => begin));
  const end = Math.max(...ranks.map(({ ends }) => ends.at(-1)!));
  const numbers = ranks.map(({ rank }) => rank);
  const hasMemory = ranks.flatMap(({ rank, memory }) => (memory ? [rank] : []));
  return { id, at, ms: end - at, steps: ranks[0]!.ends.length, ranks: numbers, memoryOf: hasMemory };
}
