import { AccError } from '@acc/contract';
import { blockSampler, type BlockSamplerOptions } from './block-sampler.js';
import type { Sampler } from '../order/sampler.js';
import type { IndexedDataset, WorkerDataset } from '../samples/indexed-dataset.js';
import { BlockCache } from './block-cache.js';

/** Numbered samples of files, which are read in blocks of consecutive samples. */
export interface BlockDataset<Sample> extends IndexedDataset<Sample> {
  /** The number of samples of each block, in the order of the samples. */
  readonly blocks: readonly number[];
  /** Sample `i`, or a promise of it, which is the same in every epoch. */
  get(i: number): Sample | PromiseLike<Sample>;
  /** The file of sample `i`, and its number in it. */
  nameOf(i: number): string;
  /**
   * The sampler for these blocks: {@link blockSampler}. Each thread then keeps as many blocks in memory as the lanes
   * need, so that each block is read once in an epoch.
   */
  sampler(options?: BlockSamplerOptions): Sampler;
}

/** How the samples of a dataset are read. */
export interface BlockReader<Block, Sample> {
  /** The number of samples of each block. */
  readonly blocks: readonly number[];
  /** Reads a block, and decodes what belongs to all of its samples. */
  load(block: number): Promise<Block>;
  /** Sample `row` of a block. */
  sample(loaded: Block, block: number, row: number): Sample | PromiseLike<Sample>;
  nameOf(block: number, row: number): string;
}

export interface BlockDatasetOptions {
  /** The number of blocks that each thread keeps. Default 4. */
  readonly cachedBlocks?: number | undefined;
  /** How worker threads open the dataset, with so many blocks kept. Absent if they cannot. */
  readonly inWorker?: ((cachedBlocks: number) => WorkerDataset) | undefined;
}

export function blockDataset<Block, Sample>(
  reader: BlockReader<Block, Sample>,
  { cachedBlocks = 4, inWorker }: BlockDatasetOptions,
): BlockDataset<Sample> {
  const { blocks } = reader;
  const cache = new BlockCache((block) => reader.load(block), cachedBlocks);
  const firsts = firstSamples(blocks);
  const length = firsts[blocks.length]!;
  const find = (i: number) => {
    if (!(i >= 0 && i < length)) throw outOfRange(i, length);
    const block = blockOf(firsts, i);
    return { block, row: i - firsts[block]! };
  };
  return {
    length,
    blocks,
    get(i) {
      const { block, row } = find(i);
      const found = cache.get(block);
      if ('block' in found) return reader.sample(found.block, block, row);
      return found.then((loaded) => reader.sample(loaded, block, row));
    },
    nameOf(i) {
      const { block, row } = find(i);
      return reader.nameOf(block, row);
    },
    sampler(options = {}) {
      const sampler = blockSampler(blocks, options);
      const { lanes = 1, mix = 1 } = options;
      cache.reserve(lanes * mix + 1);
      return sampler;
    },
    ...(inWorker && {
      get inWorker() {
        return inWorker(cache.capacity);
      },
    }),
  };
}

/** The first sample of each block, and behind the last one the number of samples. */
export function firstSamples(blocks: readonly number[]): Float64Array {
  const firsts = new Float64Array(blocks.length + 1);
  blocks.forEach((rows, block) => (firsts[block + 1] = firsts[block]! + rows));
  return firsts;
}

/** The block with sample `i`. Blocks without samples have none. */
export function blockOf(firsts: Float64Array, i: number): number {
  let low = 0;
  let high = firsts.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >>> 1;
    if (firsts[middle]! <= i) low = middle;
    else high = middle;
  }
  return low;
}

function outOfRange(i: number, length: number): AccError {
  return new AccError(
    'ACC_INVALID_ARGUMENT',
    `Sample ${i} is out of range: the dataset has ${length} samples.`,
    {
      help: `Ask for a sample from 0 to ${length - 1}.`,
      details: { index: i, length },
    },
  );
}
