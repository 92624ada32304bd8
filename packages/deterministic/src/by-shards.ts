import {
  engine,
  getKernel,
  Multiply,
  Tensor,
  type KernelBackend,
  type KernelFunc,
  type NamedAttrMap,
  type NamedTensorInfoMap,
  type TensorInfo,
} from '@tensorflow/tfjs-core';
import {
  repetitionsOf,
  rowsAt,
  localRowsShape,
  type ShardLayout,
  type TensorShards,
  type ShardsLayer,
  type RowsAt,
} from '@acc/contract';
import type { Plan, Result } from '@acc/sharding-rules';

export type KernelCall = Parameters<KernelFunc>[0];
export type Inputs = readonly (readonly [name: string, x: TensorInfo])[];

export interface ShardsOptions {
  readonly shards: ShardsLayer;
  /** The number of shards of each tensor in shards. */
  readonly count: number;
  readonly backendName: string;
}

export interface ShardsPlan {
  readonly inputs: Inputs;
  readonly plan: Plan;
  /** Called before the kernel runs on each shard. */
  readonly beforeShard: (shard: number) => void;
}

/**
 * Runs a kernel on each shard of its inputs, one after another. The results are in shards. The
 * caller owns them.
 */
export function runByShards(
  kernelFunc: KernelFunc,
  call: KernelCall,
  { inputs, plan, beforeShard }: ShardsPlan,
  options: ShardsOptions,
): TensorInfo | TensorInfo[] {
  const operands = new Operands(call, options);
  const results: TensorInfo[][] = [];
  let isList = false;
  try {
    const lists = inputs.map(([name, x]) => [name, operands.of(name, x, plan)] as const);
    const attrs = { ...call.attrs, ...plan.attrs } as NamedAttrMap;
    for (let shard = 0; shard < options.count; shard++) {
      const ofShard = (Array.isArray(call.inputs) ? [] : {}) as NamedTensorInfoMap;
      for (const [name, list] of lists) ofShard[name] = asTensor(list[shard]!);
      beforeShard(shard);
      const given = kernelFunc({ inputs: ofShard, attrs, backend: call.backend });
      isList = Array.isArray(given);
      results.push([given].flat().map((x) => apart(x, call.backend as Backend)));
    }
  } catch (error) {
    operands.free(results.flat());
    throw error;
  } finally {
    operands.dispose();
  }
  const shapes = results[0]!.map(({ shape }) => shape);
  const length = lengthOf(inputs, plan, options.shards);
  const held = shapes.map((shape, i) => {
    const ofShards = results.map((list) => list[i]!);
    const result = resultOf(plan, i, shape);
    if (result.kind !== 'whole') return hold(ofShards, result, length, options);
    operands.free(ofShards.slice(1));
    return ofShards[0]!;
  });
  return isList ? held : held[0]!;
}

/**
 * The shards of `x`, in its shape. They are borrowed. Undefined if `x` is whole, or if a reshape
 * has split its rows.
 */
export function shardsIn(x: TensorInfo, { layout, shards }: TensorShards): TensorInfo[] | undefined {
  const at = layout.kind === 'rows' ? rowsAt(x.shape, layout) : undefined;
  if (layout.kind === 'rows' && !at) return undefined;
  const shape = at ? localRowsShape(x.shape, at, shards.length) : x.shape;
  return shards.map(({ dataId, dtype }) => ({ dataId, shape, dtype }));
}

/** The inputs of a kernel for each shard, and the temporary tensors that were created for them. */
class Operands {
  readonly #made: TensorInfo[] = [];

  constructor(
    private readonly call: KernelCall,
    private readonly options: ShardsOptions,
  ) {}

  /** One tensor for each shard. */
  of(name: string, x: TensorInfo, { cuts, factors }: Plan): readonly TensorInfo[] {
    const { shards, count } = this.options;
    const local = shards.of(x);
    const cut = local ? undefined : cuts?.get(name);
    const factor = factors?.get(name) ?? 1;
    if (!local && !cut) return new Array<TensorInfo>(count).fill(this.#scaled(x, factor));
    const operands = local ? shardsIn(x, local)! : this.#cut(x, cut!);
    return operands.map((shard) => this.#scaled(shard, factor));
  }

  free(tensors: readonly TensorInfo[]): void {
    for (const { dataId } of tensors) (this.call.backend as Backend).disposeData(dataId);
  }

  dispose(): void {
    this.free(this.#made.splice(0));
  }

  #cut(x: TensorInfo, at: RowsAt): TensorInfo[] {
    const { shards, count } = this.options;
    const shape = localRowsShape(x.shape, at, count);
    const cut = shards.cut(x, { outer: repetitionsOf(x.shape, at), count, shape });
    this.#made.push(...cut);
    return cut;
  }

  #scaled(x: TensorInfo, factor: number): TensorInfo {
    if (factor === 1) return x;
    const backend = this.call.backend as Backend;
    const scale = {
      dataId: backend.write(Float32Array.of(factor), [], 'float32'),
      shape: [],
      dtype: 'float32' as const,
    };
    const { kernelFunc } = getKernel(Multiply, this.options.backendName);
    const scaled = kernelFunc({ inputs: { a: x, b: scale }, backend }) as TensorInfo;
    this.#made.push(scaled, scale);
    return scaled;
  }
}

/**
 * Moves a kernel's result out of tfjs's tensor count, because some kernels of `cpu` return tensors.
 */
function apart(x: TensorInfo, backend: Backend): TensorInfo {
  const { dataId, shape, dtype } = x;
  if (x instanceof Tensor) {
    backend.incRef(dataId);
    x.dispose();
    engine().removeDataId(dataId, backend as KernelBackend);
  }
  return { dataId, shape, dtype };
}

/** Some kernels of tfjs expect tensors as inputs, which have a rank. */
function asTensor(x: TensorInfo): TensorInfo {
  return 'rank' in x ? x : Object.assign({ ...x }, { rank: x.shape.length });
}

interface Backend {
  incRef(dataId: object): void;
  write(values: Float32Array, shape: number[], dtype: 'float32'): object;
  disposeData(dataId: object): boolean;
}

function resultOf({ results }: Plan, i: number, shape: readonly number[]): Result {
  if (typeof results === 'function') return results(shape);
  return Array.isArray(results) ? (results as Result[])[i]! : (results as Result);
}

/** The total number of rows of all shards, in one repetition. */
function lengthOf(inputs: Inputs, { cuts }: Plan, shards: ShardsLayer): number {
  for (const [name, x] of inputs) {
    const layout = shards.of(x)?.layout;
    if (layout?.kind === 'rows') return layout.length;
    const cut = cuts?.get(name);
    if (cut) return x.shape[cut.dim]! / cut.times;
  }
  return 0;
}

function hold(
  ofShards: readonly TensorInfo[],
  result: Result & { readonly kind: 'rows' | 'sum' },
  length: number,
  { shards, count }: ShardsOptions,
): TensorInfo {
  const { shape: localShape, dtype } = ofShards[0]!;
  if (result.kind === 'sum') {
    const layout: ShardLayout = { kind: 'sum', scale: result.scale };
    return shards.hold({ shape: localShape, dtype, layout }, ofShards);
  }
  const shape = localShape.map((size, dim) => (dim === result.at.dim ? size * count : size));
  const layout: ShardLayout = { kind: 'rows', outer: repetitionsOf(shape, result.at), length };
  return shards.hold({ shape, dtype, layout }, ofShards);
}
