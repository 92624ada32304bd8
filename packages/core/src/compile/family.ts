import type { Fusion } from '@acc/contract';
import { areExplainedBySizes } from './explained-by-sizes.js';
import { SHAPE_MARK } from './nested-values.js';
import type { RecordedStep } from './recorded-step.js';

/** One recording that serves arguments of several sizes. */
interface SharedRecording {
  readonly first: RecordedStep<unknown>;
  /** The sizes of the arguments of `first`. */
  readonly sizes: readonly number[];
  /** The sizes of all arguments that it serves. */
  readonly served: Set<readonly number[]>;
}

/** A place in a recording that others share. */
export interface Share {
  readonly recording: SharedRecording;
  /** The numbers that differ from those of the first recording, in pairs. */
  readonly numbers: ArrayLike<number>;
  /** Whether the sizes of the arguments explain all differences. */
  readonly isExplained: boolean;
}

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
  /** Sizes that are not replayed. */
  #refused = 0;
  #isRunning = false;

  constructor(
    private readonly kind: string,
    private readonly fuse: Fusion,
  ) {}

  /** The number of recordings. */
  get recordings(): number {
    return this.#recordings.length;
  }

  /** The number of recordings that were made or tried without success. */
  get attempts(): number {
    return this.#recordings.length + this.#refused;
  }

  /** Whether one of its steps is being recorded or replayed. */
  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** Runs `work`, during which {@link isRunning} is true. */
  run<T>(work: () => T): T {
    this.#isRunning = true;
    try {
      return work();
    } finally {
      this.#isRunning = false;
    }
  }

  /** Notes that a recording was tried without success. */
  refused(): void {
    this.#refused++;
  }

  /** Lets a recording share the calls of an earlier one. Undefined if all make other calls. */
  share({ recording, result }: RecordedStep<unknown>, sizes: readonly number[]): Share | undefined {
    for (const shared of this.#recordings) {
      const numbers = recording.shareCallsOf(shared.first.recording, this.fuse);
      if (!numbers) continue;
      shared.served.add(sizes);
      const isExplained =
        result.kind === shared.first.result.kind && areExplainedBySizes(numbers, shared.sizes, sizes);
      return { recording: shared, numbers, isExplained };
    }
    return undefined;
  }

  /** Seals a recording that shares the calls of no other. */
  add(first: RecordedStep<unknown>, sizes: readonly number[]): Share {
    first.recording.seal(this.fuse);
    const recording = { first, sizes, served: new Set([sizes]) };
    this.#recordings.push(recording);
    return { recording, numbers: [], isExplained: true };
  }

  /** Gives a place back when the recording of `sizes` is disposed. */
  leave({ recording }: Share, sizes: readonly number[]): void {
    recording.served.delete(sizes);
    if (recording.served.size === 0) this.#recordings.splice(this.#recordings.indexOf(recording), 1);
  }

  /** For each recording which arguments it serves and what its replays fuse, as text for people. */
  explanations(): string[] {
    return this.#recordings.map(
      ({ first, served }) => `${describeArguments(this.kind, [...served])}\n${first.recording.explanation}`,
    );
  }
}

/** Describes arguments of one or several sizes. Dims that always have the same size share a letter. */
function describeArguments(kind: string, served: readonly (readonly number[])[]): string {
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
  const many = [...letters].map(([all, letter]) => `${letter} = ${all.replaceAll(',', ', ')}`);
  return many.length === 0
    ? `Arguments ${text}`
    : `Arguments ${text}, one recording for ${served.length} sizes: ${many.join('; ')}`;
}
