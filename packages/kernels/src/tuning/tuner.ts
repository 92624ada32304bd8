import { AccError, isAccError, medianLow } from '@acc/contract';
import { numThreads, releaseCachedMemory, synchronize, type Tensor as NativeTensor } from '@acc/native';
import type { TuningOptions } from './options.js';

/** One of several operators, or layouts, that give the same result. Borrows its arguments; caller disposes the result. */
export type Way<Args extends readonly unknown[]> = (...args: Args) => NativeTensor;

/** A computation that libtorch has several ways for. */
export interface Family<Args extends readonly unknown[]> {
  readonly name: string;
  /** By name; the first is taken unless another takes at most {@link clearly} of its time. */
  readonly ways: Readonly<Record<string, Way<Args>>>;
  /** A share of the first way's time, below 1: less may be noise, or be lost again elsewhere, as with layouts. */
  readonly clearly: number;
  /** The class of shapes, within which one way is the fastest; asked for at every call. */
  classOf(...args: Args): number | string;
  /** The name of that class. */
  nameOf(...args: Args): string;
  /** Whether a way would take no longer than its call: then the first is as good as any, and nothing is measured. */
  isSmall(...args: Args): boolean;
}

/** What was chosen for one class of shapes. */
export interface Choice {
  readonly family: string;
  readonly shapes: string;
  readonly way: string;
  /** Milliseconds of each way that was measured; empty where it was pinned, small, or another rank's. */
  readonly measuredMs: Readonly<Record<string, number>>;
  /** Why ways are out, by name. */
  readonly failures: Readonly<Record<string, string>>;
}

/** Where the ranks of a job agree: the first value that any of them gives for a key is everybody's. */
export interface ChoiceStore {
  /** The value of `key`, if somebody has given one. */
  find(key: string): string | undefined;
  /** Gives `value` unless there is one already; returns the one that holds. */
  agree(key: string, value: string): string;
}

/** Each way is measured until it has run so often, or so long. */
const RUNS = 7;
const ENOUGH_MS = 60;

/** So often a class of shapes is measured anew because memory ran out; then ways that need more than there is are out. */
const MAX_POSTPONED = 3;

/** Errors of a way that this libtorch or device has not; any other is a fault, and the caller's. */
const NOT_HERE = ['ACC_OPERATOR_UNKNOWN', 'ACC_OPERATOR_FAILED'];

/**
 * Chooses between ways by measuring them on the first real arguments of each class of shapes, and remembers it. A way
 * that this libtorch or device has not is out. Where one runs out of memory, the first way is taken for this call, and the next
 * one measures again. Pins come before everything; in a job, the rank that measures first decides for all.
 */
export class Tuner {
  readonly #choices = new Map<string, Choice>();
  /** How often each class of shapes was left to be measured later. */
  readonly #postponed = new Map<string, number>();
  #generation = 0;
  #store: ChoiceStore | undefined;
  #isFixed = false;
  readonly #families = new Set<string>();
  #taken: Readonly<Record<string, string>> = {};

  constructor(private readonly options: () => TuningOptions) {}

  /** All choices so far, in the order in which they were made. */
  get choices(): readonly Choice[] {
    return [...this.#choices.values()];
  }

  /** From now on choices are the job's. What this process has chosen alone is forgotten. */
  share(store: ChoiceStore | undefined): void {
    if (store === this.#store) return;
    this.#store = store;
    this.#taken = {};
    this.#forget();
  }

  /** The way of each class of shapes, for {@link take}. */
  get ways(): Readonly<Record<string, string>> {
    return Object.fromEntries(Array.from(this.#choices, ([key, { way }]) => [key, way]));
  }

  /** From now on takes these ways, on all ranks alike, before anything is measured; pins aside. */
  take(ways: Readonly<Record<string, string>>): void {
    this.#taken = { ...this.ways, ...ways };
    this.#forget();
  }

  /** Whether the first way is taken wherever none is pinned, so that every run takes the same. */
  fix(isFixed: boolean): void {
    if (isFixed === this.#isFixed) return;
    this.#isFixed = isFixed;
    this.#forget();
  }

  /** The function that takes the chosen way. */
  tuned<Args extends readonly unknown[]>(family: Family<Args>): Way<Args> {
    this.#families.add(family.name);
    let generation = this.#generation;
    const chosen = new Map<number | string, Way<Args>>();
    return (...args) => {
      if (generation !== this.#generation) {
        chosen.clear();
        generation = this.#generation;
      }
      const shapeClass = family.classOf(...args);
      let way = chosen.get(shapeClass);
      if (!way) {
        const choice = this.#choose(family, args);
        if (choice === undefined) return Object.values(family.ways)[0]!(...args);
        way = family.ways[choice]!;
        chosen.set(shapeClass, way);
      }
      return way(...args);
    };
  }

  #forget(): void {
    this.#choices.clear();
    this.#postponed.clear();
    this.#generation++;
  }

  /** Undefined where memory ran out, and it is to be chosen later. */
  #choose<Args extends readonly unknown[]>(family: Family<Args>, args: Args): string | undefined {
    const shapes = family.nameOf(...args);
    const { pins, print } = this.options();
    this.#requireFamilies(Object.keys(pins));
    const pinned = pins[family.name];
    if (pinned !== undefined) requireWay(family, pinned);
    const key = `${family.name}/${shapes}/${numThreads()}`;
    const usual = this.#isFixed || family.isSmall(...args) ? Object.keys(family.ways)[0] : undefined;
    const taken = this.#taken[key];
    const own = pinned ?? usual ?? (taken !== undefined && taken in family.ways ? taken : undefined);
    const given = own ?? this.#store?.find(key);
    const measured = given === undefined ? measure(family, args) : NOT_MEASURED;
    if (measured.isShortOfMemory && this.#postpone(key)) return undefined;
    const { measuredMs, failures } = measured;
    const way = given ?? fastest(family, measuredMs);
    const agreed = own ?? this.#store?.agree(key, way) ?? way;
    const choice = { family: family.name, shapes, way: agreed, measuredMs, failures };
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
    help: `Take one of: ${[...known].join(', ')}.`,
  });
}

function requireWay({ name, ways }: Family<never>, way: string): void {
  if (!(way in ways)) refuse(`'${name}' has no way '${way}'`, Object.keys(ways));
}

interface Measured extends Pick<Choice, 'measuredMs' | 'failures'> {
  readonly isShortOfMemory: boolean;
}

const NOT_MEASURED: Measured = { measuredMs: {}, failures: {}, isShortOfMemory: false };

/**
 * The median time of each way; ways in turn, so that what else the machine does hits all alike. Not the best time: ways
 * differ in how much they suffer from what shares caches and memory with them, which training does all the time.
 */
function measure<Args extends readonly unknown[]>({ ways }: Family<Args>, args: Args): Measured {
  const failures: Record<string, string> = {};
  let isShortOfMemory = false;
  /** Notes why a way is out; the first way's error is the caller's. */
  const noteOut = (name: string, error: unknown): void => {
    const ranOut = isAccError(error, 'ACC_OUT_OF_MEMORY');
    if (name === Object.keys(ways)[0] || !(ranOut || isNotHere(error))) throw error;
    if (ranOut) releaseCachedMemory();
    isShortOfMemory ||= ranOut;
    failures[name] = error.message;
  };
  const times: Record<string, number[]> = {};
  let spentMs = 0;
  const attempt = (name: string, way: Way<Args>) => {
    try {
      const ms = timeMs(() => way(...args));
      // The first call of an operator prepares it, and does not count.
      if (!times[name]) return void (times[name] = []);
      times[name].push(ms);
      spentMs += ms;
    } catch (error) {
      noteOut(name, error);
    }
  };
  const works = () => Object.entries(ways).filter(([name]) => !(name in failures));
  for (const [name, way] of works()) attempt(name, way);
  if (works().length === 1) return { measuredMs: { [works()[0]![0]]: 0 }, failures, isShortOfMemory };
  const mostMs = ENOUGH_MS * works().length;
  for (let run = 0; run < RUNS && spentMs < mostMs; run++) {
    for (const [name, way] of works()) attempt(name, way);
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

function fastest({ ways, clearly }: Family<never>, ms: Readonly<Record<string, number>>): string {
  const usual = Object.keys(ways)[0]!;
  const [best, bestMs] = Object.entries(ms).reduce((a, b) => (b[1] < a[1] ? b : a));
  return bestMs <= clearly * ms[usual]! ? best : usual;
}

/** One line: the choice, the times that it rests on, and which ways are out. */
export function describe({ family, shapes, way, measuredMs, failures }: Choice): string {
  const times = Object.entries(measuredMs).map(([name, ms]) => `${name} ${ms.toFixed(3)} ms`);
  for (const [name, reason] of Object.entries(failures))
    times.push(`not ${name}: ${reason.split('\n', 1)[0]!}`);
  return `acc: ${family} ${shapes}: ${way}${times.length > 0 ? ` (${times.join(', ')})` : ''}`;
}
