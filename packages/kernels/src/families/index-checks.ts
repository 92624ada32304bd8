import { AccError } from '@acc/contract';
import { operator, operatorInPlace, type Tensor as NativeTensor } from '@acc/native';

const clamp = operator('aten::clamp');
const zeros = operator('aten::zeros');
const clear = operatorInPlace('aten::zero_');
const note = operatorInPlace('acc::note_indices');

/** How many lookups, which differ in kernel or size, are distinguished. */
const MOST_LOOKUPS = 1024;

interface Lookup {
  readonly kernelName: string;
  readonly size: number;
}

/** The error for an index of a lookup. */
export function outOfRange({ kernelName, size }: Lookup, index: number, cause?: unknown): AccError {
  return new AccError(
    'ACC_INDEX_OUT_OF_RANGE',
    `${kernelName}: the index value ${index} is not in [0, ${size - 1}].`,
    {
      help: `Indices choose from ${size} elements. Check the ids, and the size of the table or embedding.`,
      ...(cause !== undefined && { cause }),
      details: { index, size },
    },
  );
}

/** How far indices were below 0 and beyond the last element; not positive where all are in range. */
interface Distances {
  readonly below: number;
  readonly beyond: number;
}

function outOfUnknownRange({ below, beyond }: Distances): AccError {
  const found = below > 0 ? `the index value ${-below} is below 0` : `an index is ${beyond} too large`;
  return new AccError('ACC_INDEX_OUT_OF_RANGE', `A lookup is out of range: ${found}.`, {
    help: `Check the ids, and the sizes of tables and embeddings. Only the first ${MOST_LOOKUPS} kinds of lookups are named.`,
    details: below > 0 ? { index: -below } : { beyond },
  });
}

/**
 * Checks indices on a device that computes after the call. There, an index out of range would end
 * the use of the device for the process, and to read the indices would wait for it. So lookups get
 * indices that are clamped, and the device notes how far those of each lookup were out of range.
 * {@link report} reads the notes when the program reads values anyway. Replays of a step note, too.
 */
export class IndexChecks {
  /** The place in the notes of each lookup, as long as there are places. */
  readonly #places = new Map<string, number>();
  readonly #lookups: Lookup[] = [];
  /** A row for each lookup, int64 `[MOST_LOOKUPS + 1, 2]`. The last is that of all lookups without a place. */
  readonly #notes: NativeTensor;
  /** Whether lookups have noted since the last report. */
  #isNoted = false;
  /** Whether a recorded step has lookups. Its replays may note at any time. */
  #isRecorded = false;
  /** Whether a step is being recorded. */
  isRecording = false;

  constructor() {
    this.#notes = zeros([MOST_LOOKUPS + 1, 2], 'int64');
  }

  /** `indices` within `[0, size)`. Caller disposes. */
  clamped(indices: NativeTensor, lookup: Lookup): NativeTensor {
    if (!indices.shape.includes(0)) this.#note(indices, lookup);
    return clamp(indices, 0, lookup.size - 1);
  }

  /** @throws AccError `ACC_INDEX_OUT_OF_RANGE` for an index of an earlier lookup. */
  report(): void {
    if (!this.#hasNotes()) return;
    const error = this.#errorOf(this.#notes.read() as BigInt64Array);
    if (!error) return;
    clear(this.#notes);
    throw error;
  }

  /** The asynchronous form of {@link report}, for lookups before the call. */
  async reportAsync(): Promise<void> {
    if (!this.#hasNotes()) return;
    const notes = (await this.#notes.readAsync()) as BigInt64Array;
    if (!this.#errorOf(notes)) return;
    // Another read may have reported it meanwhile.
    this.#isNoted = true;
    this.report();
  }

  #hasNotes(): boolean {
    const hasNotes = this.#isNoted || this.#isRecorded;
    this.#isNoted = false;
    return hasNotes;
  }

  #errorOf(notes: BigInt64Array): AccError | undefined {
    const distances = (place: number): Distances => ({
      below: Number(notes[2 * place]),
      beyond: Number(notes[2 * place + 1]),
    });
    const isOutside = ({ below, beyond }: Distances) => below > 0 || beyond > 0;
    const place = this.#lookups.findIndex((_, i) => isOutside(distances(i)));
    if (place >= 0) {
      const { below, beyond } = distances(place);
      const lookup = this.#lookups[place]!;
      return outOfRange(lookup, below > 0 ? -below : lookup.size - 1 + beyond);
    }
    const others = distances(MOST_LOOKUPS);
    return isOutside(others) ? outOfUnknownRange(others) : undefined;
  }

  #note(indices: NativeTensor, lookup: Lookup): void {
    this.#isNoted = true;
    this.#isRecorded ||= this.isRecording;
    note(this.#notes, indices, this.#placeOf(lookup), lookup.size);
  }

  /** A place never gets another lookup, because recorded steps go on noting there. */
  #placeOf({ kernelName, size }: Lookup): number {
    const key = `${kernelName} ${size}`;
    const known = this.#places.get(key);
    if (known !== undefined) return known;
    if (this.#lookups.length === MOST_LOOKUPS) return MOST_LOOKUPS;
    this.#places.set(key, this.#lookups.length);
    return this.#lookups.push({ kernelName, size }) - 1;
  }
}
