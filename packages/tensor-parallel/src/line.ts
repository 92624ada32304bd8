import { Multiply, Transpose, type KernelBackend, type Tensor, type TensorInfo } from '@tensorflow/tfjs-core';
import {
  fingerprintOf,
  requireSameBatch,
  type Collective,
  type KernelLayer,
  type LocalShard,
  type ReduceOp,
} from '@acc/contract';
import type { Kernels } from './kernels.js';
import { sizeOf, withTensor } from './tensor-info.js';

const AGREED = { agreed: true };
const EXCHANGE = { isPassing: true, what: 'exchanges of tensor parallel kernels' };

/**
 * The exchange between the ranks of one line of the mesh's axis `tensor`. All of them run the same
 * kernels in the same order, so calls need no comparison. Replays of a recorded step make the same
 * calls. The caller owns the results.
 */
export class Line {
  constructor(
    private readonly collective: Collective,
    private readonly kernels: Kernels,
    private readonly layer: Pick<KernelLayer, 'recorder'>,
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
    return this.#exchanged(x, (tensor) => this.collective.allReduce(tensor, op, AGREED));
  }

  /** Adds up a tensor of each rank. */
  sum(x: Tensor): Tensor {
    return this.#recorded(x, (local) => this.collective.allReduce(local, 'sum', AGREED));
  }

  /** The whole tensor of which `local` is this rank's shard, in the shape of its repetitions. */
  join({ layout, shard }: LocalShard): TensorInfo {
    if (layout.kind === 'sum') return this.#scaled(this.allReduce(shard), layout.scale);
    const { outer } = layout;
    const rest = sizeOf(shard) / outer;
    const gathered = this.#exchanged({ ...shard, shape: [outer, rest] }, (tensor) =>
      this.collective.allGather(tensor, { even: true, ...AGREED }),
    );
    if (outer === 1) return gathered;
    // The shards of the ranks lie one after the other.
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
    const local = this.#exchanged({ ...parts, shape: [this.count * outer, rest] }, (tensor) =>
      this.collective.reduceScatter(tensor, 'sum', AGREED),
    );
    if (parts !== x) this.kernels.free(parts);
    return this.#scaled(local, scale);
  }

  /** Whether a step is recorded, in which values cannot be read. */
  get isRecording(): boolean {
    return this.layer.recorder?.isRecording === true;
  }

  /**
   * Throws unless all ranks have these tensors with the same values.
   *
   * @throws AccError `ACC_BATCHES_DIFFER`.
   */
  requireSame(tensors: readonly TensorInfo[]): void {
    const local = tensors.map((x) => fingerprintOf(x, this.backend.readSync(x.dataId) as Float32Array));
    requireSameBatch({ call: 'tensor parallel', axis: 'tensor' }, local, this.collective);
  }

  #exchanged(x: TensorInfo, call: (x: Tensor) => Tensor): TensorInfo {
    return withTensor(x, this.backend, (tensor) => this.#recorded(tensor, call));
  }

  /** The result of a collective. A recorded step calls it again in each replay. */
  #recorded(x: Tensor, call: (x: Tensor) => Tensor): Tensor {
    const { recorder } = this.layer;
    if (!recorder?.isRecording) return call(x);
    return recorder.runAction([x], ([local]) => [call(local!)], EXCHANGE)[0]!;
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
