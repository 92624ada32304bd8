import { AccError, isAccError, medianLow } from '@acc/contract';
import { numThreads, releaseCachedMemory, synchronize, type Tensor as NativeTensor } from '@acc/native';
import { measuringCalls } from '../flops/counting.js';
import type { TuningOptions } from './options.js';

/**
 * One of several operators, or memory layouts, with the same result. Borrows its arguments. Caller
 * disposes the result.
 */
export type Candidate<Args extends readonly unknown[]> = (...args: Args) => NativeTensor;

/** Runs the chosen candidate of a family. */
export interface TunedFamily<Args extends readonly unknown[]> {
  (...args: Args): NativeTensor;
  /** The name of the candidate that runs with these arguments. May measure the candidates. */
  candidateFor(...args: Args): string;
}

/** A computation for which libtorch has several candidates. */
export interface Family<Args extends readonly unknown[]> {
  readonly name: string;
  /**
   * Ways by name. The first is the default; another is chosen only if its time is at most {@link
   * clearly} times that of the default.
   */
  readonly candidates: Readonly<Record<string, Candidate<Args>>>;
  /**
   * A fraction of the first candidate's time, below 1. A smaller gain may be noise, or may be lost
   * elsewhere, as with memory layouts.
   */
  readonly clearly: number;
  /** The class of shapes. One candidate is chosen for each class. Called on every call. */
  classOf(...args: Args): number | string;
  /** The name of that class. */
  nameOf(...args: Args): string;
  /**
   * Whether a candidate takes no longer than the overhead of its call. The first candidate is then used without
   * a measurement.
   */
  isSmall(...args: Args): boolean;
}

/** The choice for one class of shapes. */
export interface Choice {
  readonly family: string;
  readonly shapes: string;
  readonly candidate: string;
  /**
   * Milliseconds of each measured candidate. Empty if the choice was pinned, small, or made by another
   * rank.
   */
  readonly measuredMs: Readonly<Record<string, number>>;
  /** The errors of the excluded candidates, by name. */
  readonly failures: Readonly<Record<string, string>>;
}

/**
 * Where the ranks of a job agree: the first value that any rank sets for a key holds for all ranks.
 */
export interface ChoiceStore {
  /** The value of `key`, if a rank has set one. */
  find(key: string): string | undefined;
  /** Sets `value` if the key has no value yet; returns the value that holds. */
  agree(key: string, value: string): string;
}

/**
 * Each candidate is measured up to RUNS times. Measuring ends early after ENOUGH_MS milliseconds per candidate.
 */
const RUNS = 7;
const ENOUGH_MS = 60;

/**
 * How often the measurement of a class of shapes is postponed because memory ran out. After that,
 * candidates that run out of memory are excluded.
 */
const MAX_POSTPONED = 3;

/**
 * Codes of errors that mean that this libtorch or device does not support a candidate. Out of memory is
 * handled separately; any other error is thrown to the caller.
 */
const NOT_HERE = ['ACC_OPERATOR_UNKNOWN', 'ACC_OPERATOR_FAILED'];

/**
 * Chooses between candidates by measuring them on the first real arguments of each class of shapes, and
 * remembers the choice. A candidate that this libtorch or device does not support is excluded. If a candidate
 * runs out of memory, this call uses the first candidate, and the next call measures again. Pins override
 * everything. In a job, the rank that measures first decides for all ranks.
 */
export class Tuner {
  readonly #choices = new Map<string, Choice>();
  /** How often the measurement of each class of shapes was postponed. */
  readonly #postponed = new Map<string, number>();
  #generation = 0;
  #store: ChoiceStore | undefined;
  #isFixed = false;
  #precision: string | undefined;
  readonly #families = new Set<string>();
  #taken: Readonly<Record<string, string>> = {};

  constructor(private readonly options: () => TuningOptions) {}

  /** All choices so far, in the order in which they were made. */
  get choices(): readonly Choice[] {
    return [...this.#choices.values()];
  }

  /**
   * Shares all further choices with the ranks of the job. Earlier choices of this process are
   * discarded.
   */
  share(store: ChoiceStore | undefined): void {
    if (store === this.#store) return;
    this.#store = store;
    this.#taken = {};
    this.#forget();
  }

  /** The chosen candidate of each class of shapes, for {@link take}. */
  get candidates(): Readonly<Record<string, string>> {
    return Object.fromEntries(Array.from(this.#choices, ([key, { candidate }]) => [key, candidate]));
  }

  /** Uses these candidates from now on, on all ranks, instead of measuring. Pins still override them. */
  take(candidates: Readonly<Record<string, string>>): void {
    this.#taken = { ...this.candidates, ...candidates };
    this.#forget();
  }

  /**
   * With true, uses the first candidate wherever no candidate is pinned, so that every run makes the same
   * choices.
   */
  fix(isFixed: boolean): void {
    if (isFixed === this.#isFixed) return;
    this.#isFixed = isFixed;
    this.#forget();
  }

  /** Chooses anew, since products take other times in another precision. */
  computeIn(precision: string | undefined): void {
    if (precision === this.#precision) return;
    this.#precision = precision;
    this.#forget();
  }

  /** Returns a function that runs the chosen candidate. */
  tuned<Args extends readonly unknown[]>(family: Family<Args>): TunedFamily<Args> {
    this.#families.add(family.name);
    const { candidates } = family;
    let generation = this.#generation;
    const chosen = new Map<number | string, string>();
    const candidateFor = (...args: Args): string => {
      if (generation !== this.#generation) {
        chosen.clear();
        generation = this.#generation;
      }
      const shapeClass = family.classOf(...args);
      let candidate = chosen.get(shapeClass);
      if (candidate === undefined) {
        candidate = this.#choose(family, args);
        if (candidate === undefined) return Object.keys(candidates)[0]!;
        chosen.set(shapeClass, candidate);
      }
      return candidate;
    };
    return Object.assign((...args: Args) => candidates[candidateFor(...args)]!(...args), { candidateFor });
  }

  #forget(): void {
    this.#choices.clear();
    this.#postponed.clear();
    this.#generation++;
  }

  /** Returns undefined if memory ran out and the choice is postponed. */
  #choose<Args extends readonly unknown[]>(family: Family<Args>, args: Args): string | undefined {
    const shapes = family.nameOf(...args);
    const { pins, print } = this.options();
    this.#requireFamilies(Object.keys(pins));
    const pinned = pins[family.name];
    if (pinned !== undefined) requireWay(family, pinned);
    const precision = this.#precision === undefined ? '' : `/${this.#precision}`;
    const key = `${family.name}/${shapes}/${numThreads()}${precision}`;
    const usual = this.#isFixed || family.isSmall(...args) ? Object.keys(family.candidates)[0] : undefined;
    const taken = this.#taken[key];
    const own = pinned ?? usual ?? (taken !== undefined && taken in family.candidates ? taken : undefined);
    const given = own ?? this.#store?.find(key);
    const measured = given === undefined ? measuringCalls(() => measure(family, args)) : NOT_MEASURED;
    if (measured.isShortOfMemory && this.#postpone(key)) return undefined;
    const { measuredMs, failures } = measured;
    const candidate = given ?? fastest(family, measuredMs);
    const agreed = own ?? this.#store?.agree(key, candidate) ?? candidate;
    const choice = { family: family.name, shapes, candidate: agreed, measuredMs, failures };
    this.#choices.set(key, choice);
    if (print) console.error(describe(choice));
    return agreed;
  }

  #postpone(key: string): boolean {
    const count = (this.#postponed.get(key) ?? 0) + 1;
    this.#postponed.set(key, count);
    return count <= MAX_POSTPONED;
  }

  #requireFamilies(names: readonly string[]): void {
    const unknown = names.find((name) => !this.#families.has(name));
    if (unknown !== undefined) refuse(`there is no family '${unknown}'`, this.#families);
  }
}

function refuse(problem: string, known: Iterable<string>): never {
  throw new AccError('ACC_INVALID_OPTION', `ACC_KERNELS_TUNE: ${problem}.`, {
    help: `Use one of: ${[...known].join(', ')}.`,
  });
}

function requireWay({ name, candidates }: Family<never>, candidate: string): void {
  if (!(candidate in candidates))
    refuse(`the family '${name}' has no candidate '${candidate}'`, Object.keys(candidates));
}

interface Measured extends Pick<Choice, 'measuredMs' | 'failures'> {
  readonly isShortOfMemory: boolean;
}

const NOT_MEASURED: Measured = { measuredMs: {}, failures: {}, isShortOfMemory: false };

/**
 * The median time of each candidate. The candidates run in turn, so that other load on the machine affects all
 * of them. The median is better than the minimum: candidates differ in how much they slow down when other
 * work shares caches and memory, which is always so in training.
 */
function measure<Args extends readonly unknown[]>({ candidates }: Family<Args>, args: Args): Measured {
  const failures: Record<string, string> = {};
  let isShortOfMemory = false;
  /** Records why a candidate is excluded. Throws an error of the first candidate. */
  const noteOut = (name: string, error: unknown): void => {
    const ranOut = isAccError(error, 'ACC_OUT_OF_MEMORY');
    if (name === Object.keys(candidates)[0] || !(ranOut || isNotHere(error))) throw error;
    if (ranOut) releaseCachedMemory();
    isShortOfMemory ||= ranOut;
    failures[name] = error.message;
  };
  const times: Record<string, number[]> = {};
  let spentMs = 0;
  const attempt = (name: string, candidate: Candidate<Args>) => {
    try {
      const ms = timeMs(() => candidate(...args));
      // The first call prepares the operator, so its time does not count.
      if (!times[name]) return void (times[name] = []);
      times[name].push(ms);
      spentMs += ms;
    } catch (error) {
      noteOut(name, error);
    }
  };
  const works = () => Object.entries(candidates).filter(([name]) => !(name in failures));
  for (const [name, candidate] of works()) attempt(name, candidate);
  if (works().length === 1) return { measuredMs: { [works()[0]![0]]: 0 }, failures, isShortOfMemory };
  const mostMs = ENOUGH_MS * works().length;
  for (let run = 0; run < RUNS && spentMs < mostMs; run++) {
    for (const [name, candidate] of works()) attempt(name, candidate);
  }
  const measuredMs = Object.fromEntries(works().map(([name]) => [name, medianLow(times[name]!)]));
  return { measuredMs, failures, isShortOfMemory };
}

function isNotHere(error: unknown): error is AccError {
  return isAccError(error) && NOT_HERE.includes(error.code);
}

function timeMs(run: () => NativeTensor): number {
  synchronize();
  const start = performance.now();
  const result = run();
  synchronize();
  const ms = performance.now() - start;
  result.dispose();
  return ms;
}

function fastest({ candidates, clearly }: Family<never>, ms: Readonly<Record<string, number>>): string {
  const usual = Object.keys(candidates)[0]!;
  const [best, bestMs] = Object.entries(ms).reduce((a, b) => (b[1] < a[1] ? b : a));
  return bestMs <= clearly * ms[usual]! ? best : usual;
}

/** One line with the choice, the measured times, and the excluded candidates. */
export function describe({ family, shapes, candidate, measuredMs, failures }: Choice): string {
  const times = Object.entries(measuredMs).map(([name, ms]) => `${name} ${ms.toFixed(3)} ms`);
  for (const [name, reason] of Object.entries(failures))
    times.push(`not ${name}: ${reason.split('\n', 1)[0]!}`);
  return `acc: ${family} ${shapes}: ${candidate}${times.length > 0 ? ` (${times.join(', ')})` : ''}`;
}
