import { engine, Tensor, type NamedTensorMap } from '@tensorflow/tfjs-core';
import {
  AccError,
  type BatchRows,
  type Collective,
  type FixedResults,
  type KernelLayer,
  type ShardsLayer,
  type Plugin,
  type Strategy,
} from '@acc/contract';
import { gradientDepth } from '@acc/tfjs-internals';
import type { Determinism } from './determinism.js';
import { Draws, type DrawsState } from './draws.js';
import { dependsOnRanks, notFromData, rowsDontFit } from './errors.js';
import { joiningStrategy } from './joining-strategy.js';
import { requireShards, resolveDeterministicOptions, type DeterministicOptions } from './options.js';
import { drawForAllRanks } from './random-ops.js';
import { ShardedKernels } from './sharded-kernels.js';
import { treeCollective } from './tree-collective.js';

export interface DeterministicContext {
  readonly kernels: KernelLayer;
  readonly rank: number;
  readonly size: number;
  /** Determines the numbers that random operators draw. */
  readonly seed: number;
}

/**
 * Makes weights the same, bit for bit, on any number of ranks. The batch of all ranks is divided
 * into virtual shards, and each rank has the same number of consecutive shards. Kernels run on the
 * rows of one shard after another. Sums over rows are computed in a binary tree over shards, which
 * continues over ranks.
 */
export class Deterministic implements Determinism {
  readonly plugin: Plugin;
  readonly kernels: KernelLayer;
  /**
   * The given layer, which is that of the active backend, and the backend whose kernels are
   * wrapped.
   */
  readonly #given: KernelLayer;
  readonly #backendName: string;
  readonly #size: number;
  readonly #rank: number;
  readonly #virtualShards: number;
  readonly #fixed: FixedResults;
  readonly #shards: ShardsLayer;
  readonly #sharded: ShardedKernels;
  readonly #draws: Draws;
  readonly #restoreRandom: () => void;
  #isInStep = false;

  /**
   * Wraps the kernels of the active backend until {@link end}.
   *
   * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`; `ACC_DETERMINISTIC_BACKEND` for a
   * backend whose kernels do not give the same bits in every run.
   */
  constructor(
    options: DeterministicOptions | undefined,
    { kernels, rank, size, seed }: DeterministicContext,
  ) {
    const resolved = resolveDeterministicOptions(options);
    requireShards(resolved, size);
    const { backendName } = kernels;
    if (!kernels.fixResults) throw notOn(kernels);
    this.#given = kernels;
    this.#backendName = backendName;
    this.#rank = rank;
    this.#size = size;
    this.#virtualShards = resolved.virtualShards;
    const count = this.#virtualShards / size;
    this.#fixed = kernels.fixResults();
    this.#shards = inShards(this.#fixed.shards, count);
    const draws = new Draws(seed, rank * count);
    this.#draws = draws;
    this.kernels = Object.create(kernels, { random: { value: draws, enumerable: true } }) as KernelLayer;
    this.#sharded = new ShardedKernels({
      shards: this.#shards,
      backendName,
      count,
      hasRows: (shape) => draws.hasRows(shape),
      seedDraw: (shard) => this.#fixed.seed(draws.nextOf(shard)),
    });
    this.#restoreRandom = drawForAllRanks({
      draws,
      rank,
      size,
      onRows: (x) => this.#shards.divide(x, count),
      onOwnRows: (x) =>
        this.#sharded.note(x, { kernelName: 'rand', reason: 'draws numbers with a function of the program' }),
    });
    this.plugin = this.#plugin();
  }

  collective(collective: Collective): Collective {
    return treeCollective(collective, (x) => this.#whole(x));
  }

  strategy(strategy: Strategy): Strategy {
    return joiningStrategy(strategy, (grad) => {
      this.#requireRanksDontMatter(grad);
      return this.#whole(grad);
    });
  }

  beginBatch(batch: BatchRows | undefined, tensors: readonly Tensor[] = []): void {
    const rows = batch?.rows[this.#rank];
    this.#draws.beginBatch(rows);
    if (!batch || rows === undefined) return;
    this.requireRows(batch);
    for (const tensor of tensors) {
      if (tensor.shape[0] === rows && tensor.dtype !== 'string') {
        this.#shards.divide(tensor, this.#virtualShards / this.#size);
      }
    }
  }

  requireRows(batch: BatchRows): void {
    const [rows] = batch.rows as readonly [number];
    const count = this.#virtualShards / this.#size;
    const isEven = batch.rows.every((local, rank) => local === rows && batch.realRows[rank] === rows);
    if (rows === 0 || rows % count !== 0 || !isEven) throw rowsDontFit(batch, this.#virtualShards);
  }

  alike<T>(compute: () => T): T {
    this.#sharded.isOn = false;
    try {
      return compute();
    } finally {
      this.#sharded.isOn = true;
    }
  }

  end(): void {
    this.#sharded.restore();
    this.#restoreRandom();
    this.#fixed.restore();
  }

  #plugin(): Plugin {
    return {
      name: 'deterministic',
      // The state is the same on every rank, so the number of ranks may change when it is loaded.
      getState: () => this.#draws.getState(),
      setState: (state: DrawsState) => this.#draws.setState(state),
      forward: (compute) => this.#forward(compute),
      backward: (compute) => {
        this.#sharded.isBackward = true;
        try {
          return compute();
        } finally {
          this.#sharded.isBackward = false;
        }
      },
      transform: (grads: NamedTensorMap) => {
        for (const grad of Object.values(grads)) if (grad as Tensor | null) this.#requireJoined(grad);
      },
    };
  }

  /** Checks the loss of a training step: it must be a sum over rows, because ranks add it up. */
  #forward<T>(compute: () => T): T {
    if (this.#given.backendName !== this.#backendName) throw leftBackend(this.#backendName, this.#given);
    const isStep = !this.#isInStep && gradientDepth() > 0;
    if (!isStep) return compute();
    this.#isInStep = true;
    try {
      const loss = compute();
      if (loss instanceof Tensor) this.#requireSum(loss);
      return loss;
    } finally {
      this.#isInStep = false;
    }
  }

  #requireSum(loss: Tensor): void {
    this.#requireRanksDontMatter(loss);
    if (this.#shards.of(loss)?.layout.kind !== 'sum') throw notFromData();
  }

  /** Checks a gradient that an optimizer is about to apply. */
  #requireJoined(grad: Tensor): void {
    this.#requireRanksDontMatter(grad);
    if (this.#shards.of(grad)) {
      throw dependsOnRanks({ kernelName: 'applyGradients', reason: 'receives local gradients of this rank' });
    }
  }

  #requireRanksDontMatter(x: Tensor): void {
    const reason = this.#sharded.reasonOf(x);
    if (reason) throw dependsOnRanks(reason);
    if (this.#shards.of(x)?.layout.kind !== 'rows') return;
    throw dependsOnRanks({
      kernelName: 'Loss',
      reason: 'has one number for each row instead of one for all rows',
    });
  }

  /** A whole tensor with the values of `x`. The caller owns it. */
  #whole(x: Tensor): Tensor {
    if (!this.#shards.of(x)) return x.clone();
    const tfjs = engine();
    return tfjs.makeTensorFromTensorInfo(this.#shards.join(x), tfjs.findBackend(this.#backendName));
  }
}

/** Hides shards of a different number of virtual shards, so that such tensors count as whole. */
function inShards(layer: ShardsLayer, count: number): ShardsLayer {
  return {
    hold: (info, shards) => layer.hold(info, shards),
    divide: (x, into) => layer.divide(x, into),
    cut: (x, cut) => layer.cut(x, cut),
    join: (x) => layer.join(x),
    of(x) {
      const shards = layer.of(x);
      return shards?.shards.length === count ? shards : undefined;
    },
  };
}

function leftBackend(backendName: string, { backendName: active }: KernelLayer): AccError {
  return new AccError(
    'ACC_DETERMINISTIC_BACKEND',
    `deterministic was set up for the backend '${backendName}', but '${active}' is active. Its results would depend on the number of ranks.`,
    {
      help: `Call tf.setBackend('${backendName}') before the next step, or leave deterministic out.`,
      details: { backendName, active },
    },
  );
}

function notOn({ backendName, device }: KernelLayer): AccError {
  return new AccError(
    'ACC_DETERMINISTIC_BACKEND',
    `The backend '${backendName}' on ${device} does not give the same bits in every run.`,
    {
      help: "Choose device: 'cpu' with the engine 'acc', or the tfjs backend 'cpu'.",
      details: { backendName, device },
    },
  );
}
