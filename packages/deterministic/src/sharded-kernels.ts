import { getKernelsForBackend, type DataId, type KernelConfig, type TensorInfo } from '@tensorflow/tfjs-core';
import { rowsAt, type TensorShards } from '@acc/contract';
import { replaceKernel } from '@acc/tfjs-internals';
import { runByShards, type Inputs, type KernelCall, type ShardsOptions } from './by-shards.js';
import { dependsOnRanks, type Reason } from './errors.js';
import {
  LINEAR_RULES,
  RANDOM,
  rows,
  RULES,
  SAME_DATA,
  ShardedCall,
  type InputState,
  type Plan,
} from '@acc/sharding-rules';

export interface ShardedKernelsOptions extends ShardsOptions {
  /** Whether a tensor of this shape has rows although it is not in shards. */
  readonly hasRows: (shape: readonly number[]) => boolean;
  /** Called before numbers are drawn: with a shard, or without for tensors without rows. */
  readonly seedDraw: (shard?: number) => void;
}

/**
 * Wraps all kernels of a backend. A call with inputs in shards runs shard by shard, by the rule of
 * its kernel. Therefore each shard has the same bits as on a rank that has only this shard.
 */
export class ShardedKernels {
  /** True while gradients are computed that ranks will add up. */
  isBackward = false;
  /** False: tensors in shards are treated as whole. */
  isOn = true;
  readonly #options: ShardedKernelsOptions;
  readonly #originals: readonly KernelConfig[];
  readonly #reasons = new WeakMap<DataId, Reason>();

  constructor(options: ShardedKernelsOptions) {
    this.#options = options;
    this.#originals = getKernelsForBackend(options.backendName);
    for (const config of this.#originals) {
      replaceKernel({ ...config, kernelFunc: (call) => this.#run(config, call) });
    }
  }

  /** Restores the original kernels of the backend. */
  restore(): void {
    for (const config of this.#originals) replaceKernel(config);
  }

  /** Records why the values of `x` depend on the number of ranks. */
  note(x: TensorInfo, reason: Reason): void {
    this.#reasons.set(x.dataId, reason);
  }

  /**
   * Why the values of `x` depend on the number of ranks. Undefined if they do not, or if `x` is in
   * shards.
   */
  reasonOf(x: TensorInfo): Reason | undefined {
    const known = this.#reasons.get(x.dataId);
    if (known) return known;
    const layout = this.#options.shards.of(x)?.layout;
    if (layout?.kind !== 'rows' || rowsAt(x.shape, layout)) return undefined;
    return { kernelName: 'Reshape', reason: 'splits rows' };
  }

  #run(config: KernelConfig, call: KernelCall): TensorInfo | TensorInfo[] {
    const { kernelName, kernelFunc } = config;
    if (!this.isOn || SAME_DATA.has(kernelName)) return kernelFunc(call);
    const { shards, seedDraw } = this.#options;
    const inputs = Object.entries(call.inputs ?? {}).filter(isThere);
    const isSharded = inputs.some(([, x]) => shards.of(x));
    const isRandom = RANDOM.has(kernelName);
    const reason = this.#firstReason(inputs);
    if (reason) return this.#whole(config, call, inputs, reason);
    if (!isSharded && !isRandom) return kernelFunc(call);
    const plan = isSharded ? this.#plan(config, call, inputs) : this.#planOfDraw(inputs);
    if (typeof plan === 'string') return this.#whole(config, call, inputs, { kernelName, reason: plan });
    if (plan)
      return runByShards(
        kernelFunc,
        call,
        { inputs, plan, beforeShard: isRandom ? seedDraw : nothing },
        this.#options,
      );
    seedDraw();
    return kernelFunc(call);
  }

  #firstReason(inputs: Inputs): Reason | undefined {
    for (const [, x] of inputs) {
      const reason = this.reasonOf(x);
      if (reason) return reason;
    }
    return undefined;
  }

  /**
   * Computes with this rank's own rows directly. It is allowed for values that no gradient depends
   * on.
   */
  #whole(
    { kernelFunc }: KernelConfig,
    call: KernelCall,
    inputs: Inputs,
    why: Reason,
  ): TensorInfo | TensorInfo[] {
    if (this.isBackward) throw dependsOnRanks(why);
    const results = kernelFunc(call);
    const given = new Set(inputs.map(([, { dataId }]) => dataId));
    for (const { dataId } of [results].flat()) if (!given.has(dataId)) this.#reasons.set(dataId, why);
    return results;
  }

  #plan({ kernelName }: KernelConfig, { attrs = {} }: KernelCall, inputs: Inputs): Plan | string {
    const { shards, count } = this.#options;
    const states = inputs.map(
      ([name, x]) => [name, { shape: x.shape, state: stateOf(x, shards.of(x)) }] as const,
    );
    const sharded = new ShardedCall(new Map(states), attrs, count);
    const hasRows = sharded.names.some((name) => sharded.rows(name));
    const rule = (hasRows ? RULES : LINEAR_RULES).get(kernelName);
    if (rule) return rule(sharded);
    return hasRows ? 'cannot run by shards' : "is not linear in values computed over this rank's own rows";
  }

  /**
   * The plan for a random kernel that draws a number for each row without an input with rows.
   * Undefined if the draw is the same on every rank.
   */
  #planOfDraw(inputs: Inputs): Plan | undefined {
    const [[name, { shape }]] = inputs as readonly [readonly [string, TensorInfo]];
    if (!this.#options.hasRows(shape)) return undefined;
    return { results: rows(0), cuts: new Map([[name, { dim: 0, times: 1 }]]) };
  }
}

function isThere(input: [string, unknown]): input is [string, TensorInfo] {
  return input[1] != null;
}

function stateOf(x: TensorInfo, shards: TensorShards | undefined): InputState {
  if (!shards) return { kind: 'whole' };
  const { layout } = shards;
  return layout.kind === 'sum' ? layout : { kind: 'rows', at: rowsAt(x.shape, layout)! };
}

const nothing = (): void => {};
