import type { SamplePlace } from '../errors.js';
import type { OnScan } from '../sources/read-forward.js';
import type { Source } from '../sources/source.js';

/** A file format whose samples lie one after another, so that a range of bytes holds consecutive samples. */
export interface RecordFormat<Sample> {
  /** The name of the format with the options that decide where samples start. It names the index. */
  readonly framing: string;
  /** The word of messages for a sample: `record`, `line`. */
  readonly unit: string;
  /**
   * Finds the samples of a file.
   *
   * @returns Where each sample starts, and where the last one ends: `[samples + 1]`, ascending.
   */
  scan(source: Source, onScan: OnScan): Promise<number[]>;
  /** @param bytes Those from the start of the sample to the start of the next one. Not to be changed. */
  decode(bytes: Uint8Array, place: SamplePlace): Sample | PromiseLike<Sample>;
}
