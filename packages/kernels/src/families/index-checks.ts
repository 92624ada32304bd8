import { AccError } from '@acc/contract';
import { operator, operatorInPlace, operatorWithResults, type Tensor as NativeTensor } from '@acc/native';

const clamp = operator('aten::clamp');
const zeros = operator('aten::zeros');
const toDtype = operator('aten::to.dtype');
const negate = operator('aten::neg');
const stack = operator('aten::stack');
const select = operator('aten::select.int');
const maximum = operator('aten::maximum');
const copyInto = operatorInPlace('aten::copy_');
const clear = operatorInPlace('aten::zero_');
const extremes = operatorWithResults('aten::aminmax');

/** How many lookups, which differ in kernel or size, are distinguished. */
const MOST_LOOKUPS = 64;

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

/**
 * Checks indices on a device that computes after the call. There, an index out of range would end
 * the use of the device for the process, and to read the indices would wait for it. So lookups get
 * indices that are clamped, and the device notes the lowest and the highest index of each lookup.
 * {@link report} reads the notes when the program reads values anyway. Replays of a step note, too.
 */
export class IndexChecks {
  readonly #lookups: Lookup[] = [];
  /** The negated lowest and the highest index of each lookup, int64 `[MOST_LOOKUPS, 2]`. */
  readonly #notes: NativeTensor;

  constructor() {
    this.#notes = zeros([MOST_LOOKUPS, 2], 'int64');
  }

  /** `indices` within `[0, size)`. Caller disposes. */
  clamped(indices: NativeTensor, lookup: Lookup): NativeTensor {
    if (!indices.shape.includes(0)) this.#note(indices, this.#placeOf(lookup));
    return clamp(indices, 0, lookup.size - 1);
  }

  /** @throws AccError `ACC_INDEX_OUT_OF_RANGE` for an index of an earlier lookup. */
  report(): void {
    if (this.#lookups.length === 0) return;
    const notes = this.#notes.read() as BigInt64Array;
    for (const [place, lookup] of this.#lookups.entries()) {
      const [low, high] = [-Number(notes[2 * place]), Number(notes[2 * place + 1])];
      if (low === 0 && high < lookup.size) continue;
      clear(this.#notes);
      throw outOfRange(lookup, low < 0 ? low : high);
    }
  }

  #placeOf({ kernelName, size }: Lookup): number {
    const known = this.#lookups.findIndex((one) => one.kernelName === kernelName && one.size === size);
    if (known >= 0) return known;
    if (this.#lookups.length === MOST_LOOKUPS) this.#makeRoom();
    return this.#lookups.push({ kernelName, size }) - 1;
  }

  #makeRoom(): void {
    this.report();
    this.#lookups.length = 0;
    clear(this.#notes);
  }

  #note(indices: NativeTensor, place: number): void {
    const [lowest, highest] = extremes(indices) as [NativeTensor, NativeTensor];
    using low = lowest;
    using high = highest;
    using negated = negate(low);
    using pair = stack([negated, high]);
    using found = toDtype(pair, 'int64');
    using note = select(this.#notes, 0, place);
    using both = maximum(note, found);
    copyInto(note, both);
  }
}
