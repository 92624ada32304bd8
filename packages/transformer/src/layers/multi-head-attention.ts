import {
  expandDims,
  greaterEqual,
  logicalAnd,
  range,
  reshape,
  split,
  tidy,
  transpose,
  type Tensor,
  type Tensor3D,
  type Tensor4D,
} from '@tensorflow/tfjs-core';
import { type layers, type Shape } from '@tensorflow/tfjs-layers';
import * as z from 'zod';
import { AccError, type ParallelLayer, type ParallelPart } from '@acc/contract';
import { scaledDotProductAttention } from '@acc/kernels';
import { Composite, PROJECTIONS } from './composite.js';
import { cacheIn, type KeyValueCache } from './key-value-cache.js';
import { parseArgs, type LayerArgs } from './layer-args.js';
import { keysMask } from './masks.js';
import { rotarySchema, rotated, type RotaryEmbeddingOptions } from './rotary.js';
import { first, firstShape, type Kwargs } from './shapes.js';

type Layer = InstanceType<typeof layers.Layer>;

export interface MultiHeadAttentionArgs extends LayerArgs {
  /** The number of heads of queries. */
  readonly heads: number;
  /**
   * The number of heads of keys and values, which divides `heads` (grouped-query attention). Default
   * `heads`.
   */
  readonly kvHeads?: number;
  /** The width of a head. Default: the width of the input divided by `heads`. */
  readonly headDim?: number;
  /** Whether a position sees only itself and those before it. Default false. */
  readonly causal?: boolean;
  /** Whether the projections have biases. Default true. */
  readonly useBias?: boolean;
  /**
   * Whether one matrix makes queries, keys and values, `c_attn`, and `c_proj` is the output's, as in
   * GPT-2. Default false: `q_proj`, `k_proj`, `v_proj` and `o_proj`, as in Llama.
   */
  readonly fused?: boolean;
  /** Rotates queries and keys by their position. Default false. */
  readonly rotary?: boolean | RotaryEmbeddingOptions;
  /** The probability that a weight of attention is dropped in training. Default 0. */
  readonly dropout?: number;
  /** The standard deviation of the projections' first values. Default: those of `dense`. */
  readonly initializerRange?: number;
  /** The same for the projection of the output. Default `initializerRange`. */
  readonly outputInitializerRange?: number;
}

const count = z.number().int().positive();
/** Options that a transformer block passes on. */
export const HEADS = {
  heads: count,
  kvHeads: count.optional(),
  headDim: count.optional(),
  causal: z.boolean().default(false),
  fused: z.boolean().default(false),
  rotary: z.union([z.boolean(), rotarySchema]).default(false),
};
const SCHEMA = z.object({
  ...HEADS,
  useBias: z.boolean().default(true),
  dropout: z.number().min(0).lt(1).default(0),
  ...PROJECTIONS,
});
type Settings = z.output<typeof SCHEMA>;

/** See {@link multiHeadAttention}. */
export class MultiHeadAttention extends Composite<Settings> implements ParallelLayer {
  static className = 'MultiHeadAttention';
  readonly #rotary: z.output<typeof rotarySchema> | undefined;
  readonly #kvHeads: number;
  #headDim = 0;
  #inputs: readonly Layer[] = [];
  #output!: Layer;

  constructor(args: MultiHeadAttentionArgs) {
    super(args, parseArgs('multiHeadAttention', SCHEMA, args));
    const { heads, kvHeads = heads, rotary } = this.settings;
    if (heads % kvHeads !== 0) throw uneven(heads, kvHeads);
    this.#kvHeads = kvHeads;
    this.#rotary = rotary === false ? undefined : rotarySchema.parse(rotary === true ? {} : rotary);
  }

  /** Whether a position sees only itself and those before it. */
  get isCausal(): boolean {
    return this.settings.causal;
  }

  /** Each rank computes some of the heads. */
  parallelParts(): readonly ParallelPart[] {
    const { heads, fused } = this.settings;
    // Of fewer keys than queries, the matrix of queries is several of the width of that of keys.
    const times = fused ? heads / this.#kvHeads + 2 : 1;
    const units = [
      { name: 'heads', count: heads },
      { name: 'kvHeads', count: this.#kvHeads },
    ];
    return [
      ...this.#inputs.map((layer) => ({ layer, cut: 'column' as const, times, units })),
      { layer: this.#output, cut: 'row', units },
    ];
  }

  override build(inputShape: Shape | Shape[]): void {
    const shape = firstShape(inputShape);
    const { heads, fused, useBias, initializerRange } = this.settings;
    const { outputInitializerRange = initializerRange } = this.settings;
    this.#headDim = this.settings.headDim ?? headDimOf(shape.at(-1)!, heads);
    const [own, shared] = [heads * this.#headDim, this.#kvHeads * this.#headDim];
    this.#inputs = fused
      ? [this.addProjection('c_attn', own + 2 * shared, initializerRange, useBias)]
      : [
          this.addProjection('q_proj', own, initializerRange, useBias),
          this.addProjection('k_proj', shared, initializerRange, useBias),
          this.addProjection('v_proj', shared, initializerRange, useBias),
        ];
    const output = fused ? 'c_proj' : 'o_proj';
    this.#output = this.addProjection(output, shape.at(-1)!, outputInitializerRange, useBias);
    this.restore();
    this.buildParts(shape, this.#inputs);
    this.buildParts([...shape.slice(0, -1), own], [this.#output]);
    super.build(inputShape);
  }

  override call(inputs: Tensor | Tensor[], kwargs: Kwargs): Tensor {
    return tidy(() => {
      const x = first(inputs) as Tensor3D;
      const [batch, length] = x.shape;
      const mixed = this.#attend(this.#project(x, kwargs), keysMask(inputs, kwargs), kwargs);
      const width = this.settings.heads * this.#headDim;
      const joined = reshape(transpose(mixed, [0, 2, 1, 3]), [batch, length, width]);
      return this.#output.call(joined, kwargs) as Tensor;
    });
  }

  /** Queries, keys and values, each `[batch, heads, length, headDim]`. */
  #project(x: Tensor3D, kwargs: Kwargs): [Tensor4D, Tensor4D, Tensor4D] {
    const { heads } = this.settings;
    const counts = [heads, this.#kvHeads, this.#kvHeads];
    const created = this.#inputs.map((layer) => layer.call(x, kwargs) as Tensor3D);
    const widths = counts.map((each) => each * this.#headDim);
    const flat = created.length === 1 ? split(created[0]!, widths, -1) : created;
    return flat.map((part, i) => {
      const [batch, length] = part.shape as [number, number];
      return transpose(reshape(part, [batch, length, counts[i]!, this.#headDim]), [0, 2, 1, 3]);
    }) as [Tensor4D, Tensor4D, Tensor4D];
  }

  #attend([q, k, v]: [Tensor4D, Tensor4D, Tensor4D], ofKeys: Tensor | undefined, kwargs: Kwargs): Tensor4D {
    const cache = cacheIn(kwargs);
    const turn = (part: Tensor4D) => (this.#rotary ? rotated(part, this.#rotary, cache?.length ?? 0) : part);
    const [queries, newKeys] = [turn(q), turn(k)];
    const seen = cache ? cache.append(this, newKeys, v) : { k: newKeys, v };
    const dropout = kwargs?.['training'] === true ? this.settings.dropout : 0;
    const isCausal = this.isCausal && (cache === undefined || cache.length === 0);
    const past = this.isCausal && !isCausal ? pastMask(q.shape[2], cache!) : undefined;
    const mask = past && ofKeys ? logicalAnd(past, ofKeys) : (past ?? ofKeys);
    return scaledDotProductAttention(queries, seen.k, seen.v, { isCausal, dropout, ...(mask && { mask }) });
  }
}

/** `[1, 1, queries, keys]`. Undefined for one query, which sees all keys. */
function pastMask(queries: number, { length: offset }: KeyValueCache): Tensor | undefined {
  if (queries === 1) return undefined;
  const rows = expandDims(range(offset, offset + queries, 1, 'int32'), 1);
  const mask = greaterEqual(rows, range(0, offset + queries, 1, 'int32'));
  return reshape(mask, [1, 1, queries, offset + queries]);
}

function headDimOf(width: number, heads: number): number {
  if (width % heads === 0) return width / heads;
  throw new AccError(
    'ACC_SHAPE_MISMATCH',
    `multiHeadAttention: the input has ${width} columns, which ${heads} heads cannot share equally.`,
    { help: 'Use a number of heads that divides the width, or give headDim.', details: { width, heads } },
  );
}

function uneven(heads: number, kvHeads: number): AccError {
  return new AccError(
    'ACC_INVALID_OPTION',
    `multiHeadAttention: kvHeads is ${kvHeads}; expected a divisor of heads, which is ${heads}.`,
    {
      help: 'Each head of keys and values serves the same number of heads of queries.',
      details: { heads, kvHeads },
    },
  );
}
