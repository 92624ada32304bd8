import { parseOptions } from '@acc/contract';
import * as z from 'zod';
import { shuffle } from '../order/permutation.js';
import { randomWords, type RandomWords } from '../order/random.js';
import { requireNumbers, samplerError, type Sampler } from '../order/sampler.js';

export interface BlockSamplerOptions {
  /**
   * The number of consecutive samples of one rank. Default: the `batchSize` of the loader, and no
   * other number is accepted. Required with `splitBatches`: give the loader's `batchSize` divided
   * by `lanes`. The order depends on this number, so it must not depend on the number of ranks.
   */
  readonly batchSize?: number;
  /**
   * The number of lanes. Each lane reads blocks of its own, and consecutive batches come from the
   * lanes in turn. If the number of ranks divides it, each rank reads only its own blocks. The
   * order does not depend on the number of ranks. Default 1: all ranks read all blocks.
   */
  readonly lanes?: number;
  /** Shuffles the blocks and the samples within them. Default true. */
  readonly shuffle?: boolean;
  /**
   * The number of blocks of a lane whose samples are shuffled together. The dataset should keep so
   * many blocks for each lane that a rank reads. Default 1.
   */
  readonly mix?: number;
}

const schema = z.object({
  batchSize: z.int().positive().optional(),
  lanes: z.int().positive().default(1),
  shuffle: z.boolean().default(true),
  mix: z.int().positive().default(1),
});

/**
 * Reads data that is stored in blocks (row groups, record batches, files) block by block, so that
 * each block is read and decoded once. Each epoch has every sample once. Towards the end, lanes
 * that have no samples left are completed from the longest one.
 *
 * @param blocks The number of samples of each block, in the order of the dataset.
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`; `ACC_DATA_SAMPLER` if the blocks
 * have another number of samples than the dataset, a number is no count, or `batchSize` is not that
 * of the loader.
 */
export function blockSampler(blocks: readonly number[], options: BlockSamplerOptions = {}): Sampler {
  const { batchSize: given, lanes, shuffle: shuffles, mix } = parseOptions('blockSampler', schema, options);
  const isCount = (rows: number) => Number.isInteger(rows) && rows >= 0;
  requireNumbers('blockSampler: blocks', blocks, isCount, 'Numbers of samples are whole numbers from 0.');
  const firsts: number[] = [];
  const total = blocks.reduce((sum, rows) => {
    firsts.push(sum);
    return sum + rows;
  }, 0);
  return {
    size: (samples) => samples,
    order({ samples, seed, epoch, batchSize: ofLoader }) {
      const batchSize = runLength(given, ofLoader);
      if (total !== samples) {
        throw samplerError(
          `blockSampler: the blocks have ${total} samples, and the dataset has ${samples}`,
          'Give the number of samples of each block of the dataset.',
          { total, samples },
        );
      }
      const draw = shuffles ? randomWords(seed, epoch) : undefined;
      const order = Int32Array.from(blocks.keys());
      if (draw) shuffle(order, draw);
      const filled = dealBlocks(order, blocks, lanes).map((own) =>
        laneRows(groupsOf(own, mix), { firsts, blocks }, draw),
      );
      return interleave(filled, samples, batchSize);
    },
  };
}

/** The number of consecutive samples that are taken from one lane. */
function runLength(value: number | undefined, ofLoader: number | undefined): number {
  if (value !== undefined && ofLoader !== undefined && value !== ofLoader) {
    throw samplerError(
      `blockSampler: batchSize is ${value}, and that of the loader is ${ofLoader}, so that the batches of a rank would mix lanes`,
      'Leave batchSize out of blockSampler, which then takes it from the loader.',
      { given: value, ofLoader },
    );
  }
  const length = value ?? ofLoader;
  if (length !== undefined) return length;
  throw samplerError(
    'blockSampler: batchSize is missing, and with splitBatches it cannot be taken from the loader',
    "Set batchSize to the loader's batchSize divided by lanes, which is the same on any number of ranks.",
  );
}

interface BlockRows {
  readonly firsts: readonly number[];
  readonly blocks: readonly number[];
}

function groupsOf(blocks: readonly number[], mix: number): number[][] {
  return Array.from({ length: Math.ceil(blocks.length / mix) }, (_, i) =>
    blocks.slice(i * mix, (i + 1) * mix),
  );
}

/** The samples of a lane: those of each group of blocks in an order of their own. */
function laneRows(
  groups: readonly (readonly number[])[],
  { firsts, blocks }: BlockRows,
  draw: RandomWords | undefined,
): Int32Array {
  const total = groups.flat().reduce((sum, block) => sum + blocks[block]!, 0);
  const lane = new Int32Array(total);
  let end = 0;
  for (const group of groups) {
    const start = end;
    for (const block of group) {
      for (let row = 0; row < blocks[block]!; row++) lane[end++] = firsts[block]! + row;
    }
    if (draw) shuffle(lane.subarray(start, end), draw);
  }
  return lane;
}

/** Gives each block to the lane with the fewest samples. */
function dealBlocks(order: Int32Array, blocks: readonly number[], lanes: number): number[][] {
  const dealt = Array.from({ length: lanes }, (): number[] => []);
  const rows = new Array<number>(lanes).fill(0);
  for (const block of order) {
    const lane = rows.indexOf(Math.min(...rows));
    dealt[lane]!.push(block);
    rows[lane]! += blocks[block]!;
  }
  return dealt;
}

/** Takes a batch from each lane in turn. */
function interleave(lanes: readonly Int32Array[], samples: number, batchSize: number): Int32Array {
  const order = new Int32Array(samples);
  const taken = new Array<number>(lanes.length).fill(0);
  const left = (lane: number) => lanes[lane]!.length - taken[lane]!;
  let place = 0;
  for (let batch = 0; place < samples; batch++) {
    const end = Math.min(place + batchSize, samples);
    let lane = batch % lanes.length;
    while (place < end) {
      if (left(lane) === 0) lane = longestOf(lanes.length, left);
      const count = Math.min(end - place, left(lane));
      for (let i = 0; i < count; i++) order[place++] = lanes[lane]![taken[lane]!++]!;
    }
  }
  return order;
}

function longestOf(lanes: number, left: (lane: number) => number): number {
  let longest = 0;
  for (let lane = 1; lane < lanes; lane++) if (left(lane) > left(longest)) longest = lane;
  return longest;
}
