import { backend_util, util } from '@tensorflow/tfjs-core';
import type { ShardedCall } from '@acc/sharding-rules';

/**
 * Whether the result of a linear kernel would have more elements than the partial sum that it takes.
 * The sum is then added up before, where it has fewer bytes to send: a number for each token before it
 * is repeated for all classes.
 */
export function grows(call: ShardedCall, kernelName: string): boolean {
  const sum = call.names.find((name) => call.isSum(name));
  const size = SIZES[kernelName];
  return sum !== undefined && size !== undefined && size(call) > util.sizeFromShape([...call.shape(sum)]);
}

/** The number of elements of a result, by kernel. */
const SIZES: Readonly<Record<string, (call: ShardedCall) => number>> = {
  BatchMatMul: ofProduct,
  GatherV2: ofGathered,
  Multiply: ofBroadcast,
  RealDiv: ofBroadcast,
  Select: ofBroadcast,
  Tile: (call) => util.sizeFromShape([...call.shape('x')]) * product(call.attrs['reps'] as number[]),
};

function ofBroadcast(call: ShardedCall): number {
  return util.sizeFromShape(call.names.map((name) => [...call.shape(name)]).reduce(broadcast));
}

function ofProduct(call: ShardedCall): number {
  const [a, b] = [[...call.shape('a')], [...call.shape('b')]];
  const rows = a.at(call.attrs['transposeA'] ? -1 : -2)!;
  const columns = b.at(call.attrs['transposeB'] ? -2 : -1)!;
  return util.sizeFromShape(broadcast(a.slice(0, -2), b.slice(0, -2))) * rows * columns;
}

function ofGathered(call: ShardedCall): number {
  const [axis] = call.dims('axis', 'x') as [number];
  const chosen = util.sizeFromShape([...call.shape('indices')]);
  const x = [...call.shape('x')];
  const batch = x.slice(0, (call.attrs['batchDims'] as number | undefined) ?? 0);
  return (util.sizeFromShape(x) / x[axis]! / product(batch)) * chosen;
}

const broadcast = (a: number[], b: number[]): number[] => backend_util.assertAndGetBroadcastShape(a, b);
const product = (list: readonly number[]): number => list.reduce((all, each) => all * each, 1);
