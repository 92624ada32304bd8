const MIB = 1024 * 1024;
/** The default size of a block. Many small blocks can be dealt to more lanes, and mix better. */
const BLOCK_BYTES = { min: MIB / 16, max: 4 * MIB };
/** The number of blocks that a small dataset has at least, if they are not smaller than the minimum. */
const BLOCKS = 128;

/** Consecutive samples of one file that are read at once. */
export interface RecordBlock {
  readonly file: number;
  /** The first sample, counted within the file. */
  readonly first: number;
  readonly samples: number;
}

export function defaultBlockBytes(starts: readonly Float64Array[]): number {
  const total = starts.reduce((sum, index) => sum + index.at(-1)! - index[0]!, 0);
  return Math.round(Math.min(Math.max(total / BLOCKS, BLOCK_BYTES.min), BLOCK_BYTES.max));
}

/**
 * Cuts files into blocks of at least `blockBytes`, except for the last one of each file.
 *
 * @param starts For each file, where its samples start, and where the last one ends.
 */
export function splitBlocks(starts: readonly Float64Array[], blockBytes: number): RecordBlock[] {
  return starts.flatMap((index, file) => {
    const blocks: RecordBlock[] = [];
    const end = index.length - 1;
    for (let first = 0; first < end;) {
      let last = first + 1;
      while (last < end && index[last]! - index[first]! < blockBytes) last++;
      blocks.push({ file, first, samples: last - first });
      first = last;
    }
    return blocks;
  });
}
