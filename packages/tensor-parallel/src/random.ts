import type { KernelLayer } from '@acc/contract';
import { operator } from '@acc/native';
import { besideTape } from '@acc/tfjs-internals';
import type { Line } from './line.js';

const randint = operator('aten::randint.low');

type DrawingLayer = Pick<KernelLayer, 'random' | 'recorder'>;

/** Seeds are below it. */
const SEEDS = 2 ** 30;

/**
 * Runs a kernel that draws random numbers for this rank's shard of a tensor. The shards of the ranks
 * get different numbers. All of them follow from the one generator state that the ranks share, which
 * is the same on all ranks afterwards, too. A step that does so is not recorded, because its seed is
 * read.
 */
export function drawApart<T>(layer: DrawingLayer, line: Line, run: () => T): T {
  const { random, recorder } = layer;
  if (!random) return run();
  recorder?.refuse('it drops attention probabilities on a mesh with the axes context and tensor');
  using drawn = randint(0, SEEDS, [1], 'int64');
  const seed = drawn.read('int32')[0] as number;
  const shared = besideTape(() => random.state());
  random.seed(seed + line.index);
  try {
    return run();
  } finally {
    besideTape(() => random.exchange(shared).dispose());
    shared.dispose();
  }
}
