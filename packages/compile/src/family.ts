import type { Fusion } from '@acc/contract';
import { areExplainedBySizes } from './explained-by-sizes.js';
import { SHAPE_MARK } from './nested-values.js';
import type { RecordedStep } from './recorded-step.js';

/** One recording that serves arguments of several sizes. */
interface SharedRecording {
  readonly first: RecordedStep<unknown>;
  /** The sizes of the arguments of `first`. */
  readonly sizes: readonly number[];
  /** The sizes of all arguments that it serves, with the number of their replays. */
  readonly served: Map<readonly number[], number>;
}

/** A place in a recording that others share. */
export interface Share {
  readonly recording: SharedRecording;
  /** The numbers that differ from those of the first recording, in pairs. */
  readonly numbers: ArrayLike<number>;
  /** Whether the sizes of the arguments explain all differences. */
  readonly isExplained: boolean;
}

/** A recording that waits for a second one, with the same sizes or with others, to confirm it. */
export interface Candidate {
  readonly recorded: RecordedStep<unknown>;
  readonly sizes: readonly number[];
  /** Called when it shares the calls of a recording for other sizes. */
  readonly onShared: (share: Share) => void;
  /** Called when it cannot be used, or when there are too many candidates. */
  readonly onDropped: () => void;
}

/** The key that the recordings of a family share. */
export interface FamilyKey {
  /** See `Flattened.kind`. */
  readonly kind: string;
  /** See `CompileContext.surroundings`. */
  readonly surroundings: string;
}

/** The largest number of candidates. A recording that nothing else shares needs much memory. */
const MAX_CANDIDATES = 8;

/**
 * The recordings of a step for arguments that differ only in sizes.
 *
 * A step computes sizes in JavaScript, where they are plain numbers and can decide what it does. So
 * nothing is assumed for new sizes: the step runs once and is recorded. If it makes the calls of an
 * earlier recording, apart from numbers, that recording serves the new sizes, too. Compilers that
 * trace sizes as symbols compile once more when a size first differs, keep 0 and 1 apart and guard
 * each decision (PyTorch's dynamic shapes), or relax the signature of a graph (`reduce_retracing` of
 * TensorFlow's `function`).
 */
export class Family {
  readonly #recordings: SharedRecording[] = [];
  readonly #candidates: Candidate[] = [];
  /** The number of sizes that are not replayed. */
  #refused = 0;
  #isRunning = false;
  #hasRun = false;

  /** @param hasRoom Whether the step may have one more recording. */
  constructor(
    private readonly key: FamilyKey,
    private readonly fuse: Fusion,
    private readonly hasRoom: () => boolean,
  ) {}

  /** The number of recordings that were made or tried without success. */
  get attempts(): number {
    return this.#recordings.length + this.#refused;
  }

  /** Whether the step is being recorded or replayed. */
  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** Whether the step has run with some sizes. */
  get hasRun(): boolean {
    return this.#hasRun;
  }

  get hasCandidates(): boolean {
    return this.#candidates.length > 0;
  }

  /** Runs `work`, during which {@link isRunning} is true. */
  run<T>(work: () => T): T {
    this.#isRunning = true;
    try {
      return work();
    } finally {
      this.#isRunning = false;
      this.#hasRun = true;
    }
  }

  /** Notes that a recording was tried without success. */
  refused(): void {
    this.#refused++;
  }

  /** Lets a recording share the calls of another one. Undefined if all make other calls. */
  share(recorded: RecordedStep<unknown>, sizes: readonly number[]): Share | undefined {
    for (const recording of this.#recordings) {
      const share = this.#join(recording, recorded, sizes);
      if (share) return share;
    }
    const candidate = this.#candidates.find((each) => each.recorded.recording.resembles(recorded.recording));
    const own = candidate && this.add(recorded, sizes);
    if (!own) return undefined;
    this.withdraw(candidate.recorded);
    const share = this.#join(own.recording, candidate.recorded, candidate.sizes);
    if (share) candidate.onShared(share);
    else candidate.onDropped();
    // Each of the two recordings confirms the other one, or a second one must.
    return { ...own, isExplained: share?.isExplained ?? false };
  }

  /**
   * Seals a recording that shares the calls of no other. Undefined if there are too many.
   */
  add(first: RecordedStep<unknown>, sizes: readonly number[]): Share | undefined {
    if (!this.hasRoom()) return undefined;
    this.withdraw(first);
    first.recording.seal(this.fuse);
    const recording = { first, sizes, served: new Map([[sizes, 0]]) };
    this.#recordings.push(recording);
    return { recording, numbers: [], isExplained: true };
  }

  /** Lets a recording wait for others. False if there are too many recordings. */
  propose(candidate: Candidate): boolean {
    if (!this.hasRoom()) return false;
    this.#candidates.push(candidate);
    if (this.#candidates.length > MAX_CANDIDATES) this.#candidates.shift()!.onDropped();
    return true;
  }

  /** Takes a candidate back, if the recording is one. */
  withdraw(recorded: RecordedStep<unknown>): void {
    const place = this.#candidates.findIndex((candidate) => candidate.recorded === recorded);
    if (place >= 0) this.#candidates.splice(place, 1);
  }

  /** Gives a place back when the recording of `sizes` is disposed. */
  leave({ recording }: Share, sizes: readonly number[]): void {
    recording.served.delete(sizes);
    if (recording.served.size === 0) this.#recordings.splice(this.#recordings.indexOf(recording), 1);
  }

  /** Counts a replay of `sizes`. */
  replayed({ recording }: Share, sizes: readonly number[]): void {
    recording.served.set(sizes, (recording.served.get(sizes) ?? 0) + 1);
  }

  /**
   * For each recording which arguments it serves, how often it was replayed and what its replays fuse,
   * as text for people.
   */
  explanations(): string[] {
    return this.#recordings.map(({ first, served }) =>
      [
        describeArguments(this.key, [...served.keys()]),
        describeReplays([...served.values()]),
        first.recording.explanation,
      ].join('\n'),
    );
  }

  /** The arguments of some sizes, as text for people. */
  describe(sizes: readonly number[]): string {
    return describeArguments(this.key, [sizes]);
  }

  #join(
    shared: SharedRecording,
    { recording, result }: RecordedStep<unknown>,
    sizes: readonly number[],
  ): Share | undefined {
    const { first } = shared;
    const numbers = recording.shareCallsOf(first.recording, this.fuse);
    if (!numbers) return undefined;
    shared.served.set(sizes, 0);
    const isExplained =
      result.kind === first.result.kind && areExplainedBySizes(numbers, shared.sizes, sizes);
    return { recording: shared, numbers, isExplained };
  }
}

/** @param replays By sizes. */
function describeReplays(replays: readonly number[]): string {
  const sum = replays.reduce((a, b) => a + b, 0);
  const all = `${sum} ${sum === 1 ? 'replay' : 'replays'}`;
  return replays.length === 1 ? `${all}.` : `${all}: ${replays.join(', ')} of these sizes, in their order.`;
}

/** Describes arguments of one or several sizes. Dims that always have the same size share a letter. */
function describeArguments(
  { kind, surroundings }: FamilyKey,
  served: readonly (readonly number[])[],
): string {
  const letters = new Map<string, string>();
  const dims = served[0]!.map((_, i) => {
    const values = [...new Set(served.map((sizes) => sizes[i]!))];
    if (values.length === 1) return `${values[0]}`;
    const all = served.map((sizes) => sizes[i]!).join();
    if (!letters.has(all)) letters.set(all, `s${letters.size}`);
    return letters.get(all)!;
  });
  const pieces = kind.split(SHAPE_MARK);
  const text = pieces
    .map((piece, i) => (i % 2 === 0 ? piece : `[${dims.splice(0, Number(piece)).join()}]`))
    .join('');
  const full = surroundings === '' ? text : `${text}, ${surroundings}`;
  const many = [...letters].map(([all, letter]) => `${letter} = ${all.replaceAll(',', ', ')}`);
  return many.length === 0
    ? `Arguments ${full}`
    : `Arguments ${full}, one recording for ${served.length} sizes: ${many.join('; ')}`;
}
