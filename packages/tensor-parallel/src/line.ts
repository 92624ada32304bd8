import { Multiply, Transpose, type KernelBackend, type TensorInfo } from '@tensorflow/tfjs-core';
import type { Collective, LocalPiece, ReduceOp } from '@acc/contract';
import type { Kernels } from './kernels.js';
import { sizeOf, withTensor } from './tensor-info.js';

const AGREED = { agreed: true };

/**
 * What the ranks of one line of the mesh's axis `tensor` exchange. All of them run the same kernels
 * in the same order, so calls need no comparison. The caller owns the results.
 */
export class Line {
  constructor(
    private readonly collective: Collective,
    private readonly kernels: Kernels,
  ) {}

  get index(): number {
    return this.collective.rank;
  }

  get count(): number {
    return this.collective.size;
  }

  get backend(): KernelBackend {
    return this.kernels.backend;
  }

  /** Combines a tensor of each rank. */
  allReduce(x: TensorInfo, op: ReduceOp = 'sum'): TensorInfo {
    return withTensor(x, this.backend, (tensor) => this.collective.allReduce(tensor, op, AGREED));
  }

  /** The whole tensor of which `local` is this rank's piece, in the shape of its repetitions. */
  join({ layout, piece }: LocalPiece): TensorInfo {
    if (layout.kind === 'sum') return this.#scaled(this.allReduce(piece), layout.scale);
    const { outer } = layout;
    const rest = sizeOf(piece) / outer;
    const gathered = withTensor({ ...piece, shape: [outer, rest] }, this.backend, (tensor) =>
      this.collective.allGather(tensor, { even: true, ...AGREED }),
    );
    if (outer === 1) return gathered;
    // The pieces of the ranks lie one after the other.
    return this.#turned(gathered, [this.count, outer, rest]);
  }

  /**
   * This rank's rows of the sum of a tensor of each rank: the own part of each of `outer`
   * repetitions.
   */
  reduceScatter(x: TensorInfo, outer: number, scale: number): TensorInfo {
    const rest = sizeOf(x) / outer / this.count;
    const parts =
      outer > 1 ? this.kernels.run(Transpose, { x: { ...x, shape: [outer, this.count, rest] } }, TURN) : x;
    const own = withTensor({ ...parts, shape: [this.count * outer, rest] }, this.backend, (tensor) =>
      this.collective.reduceScatter(tensor, 'sum', AGREED),
    );
    if (parts !== x) this.kernels.free(parts);
    return this.#scaled(own, scale);
  }

  #turned(x: TensorInfo, shape: number[]): TensorInfo {
    const turned = this.kernels.run(Transpose, { x: { ...x, shape } }, TURN);
    this.kernels.free(x);
    return turned;
  }

  #scaled(x: TensorInfo, scale: number): TensorInfo {
    if (scale === 1) return x;
    const factor = this.kernels.scalar(scale);
    const scaled = this.kernels.run(Multiply, { a: x, b: factor });
    this.kernels.free(x);
    this.kernels.free(factor);
    return scaled;
  }
}

/** Exchanges the first two of three dims. */
const TURN = { perm: [1, 0, 2] };
