import { add, tidy, type Tensor } from '@tensorflow/tfjs-core';
import { type layers, type Shape } from '@tensorflow/tfjs-layers';
import * as z from 'zod';
import { dropout as dropoutOf } from '@acc/kernels';
import { activationSchema, type ActivationName } from './activations.js';
import { Composite, partsOf, PROJECTIONS } from './composite.js';
import { FeedForward, SwiGlu } from './feed-forward.js';
import { parseArgs, type LayerArgs } from './layer-args.js';
import { HEADS, MultiHeadAttention } from './multi-head-attention.js';
import { Moe } from '../moe/moe.js';
import { MOE_OPTIONS, requireChoices, type MoeOptions } from '../moe/options.js';
import { LastDimNormalization, RmsNormalization } from './norms.js';
import type { RotaryEmbeddingOptions } from './rotary.js';
import { first, firstShape, type Kwargs } from './shapes.js';

type Layer = InstanceType<typeof layers.Layer>;

export interface TransformerBlockArgs extends LayerArgs {
  /** As of `multiHeadAttention`. */
  readonly heads: number;
  readonly kvHeads?: number;
  readonly headDim?: number;
  readonly causal?: boolean;
  readonly fused?: boolean;
  readonly rotary?: boolean | RotaryEmbeddingOptions;
  readonly attentionDropout?: number;
  /** Layer normalisation, or by the root mean square. Default `layer`. */
  readonly normalization?: 'layer' | 'rms';
  /** Of the normalisation. Default 1e-5, and 1e-6 for `rms`. */
  readonly epsilon?: number;
  /** Default `gelu`: `feedForward`. */
  readonly mlp?: 'gelu' | 'swiGlu';
  /** Of `feedForward`. Default `gelu_new`. `swiGlu` has its own. */
  readonly activation?: ActivationName;
  /** Options of `moe`, which takes the place of the MLP. Its experts are MLPs of the kind `mlp`. */
  readonly moe?: MoeOptions;
  /** The width within the MLP, or within each expert. Default: 4 times that of the input. */
  readonly innerUnits?: number;
  /** Whether the projections of attention have biases. Default true, and false with `swiGlu`. */
  readonly useBias?: boolean;
  /** The same for the MLP. Default `useBias`. */
  readonly mlpBias?: boolean;
  /** The probability that an element of what is added to the input is dropped in training. Default 0. */
  readonly dropout?: number;
  /** The standard deviation of the projections' first values. Default: those of `dense`. */
  readonly initializerRange?: number;
  /** The same for the projections whose output is added to the input. Default `initializerRange`. */
  readonly outputInitializerRange?: number;
}

const share = z.number().min(0).lt(1).default(0);
const SCHEMA = z.object({
  ...HEADS,
  attentionDropout: share,
  normalization: z.enum(['layer', 'rms']).default('layer'),
  epsilon: z.number().nonnegative().optional(),
  mlp: z.enum(['gelu', 'swiGlu']).default('gelu'),
  activation: activationSchema.optional(),
  moe: z.strictObject(MOE_OPTIONS).optional(),
  innerUnits: z.number().int().positive().optional(),
  useBias: z.boolean().optional(),
  mlpBias: z.boolean().optional(),
  dropout: share,
  ...PROJECTIONS,
});
type Settings = z.output<typeof SCHEMA>;

/** See {@link transformerBlock}. */
export class TransformerBlock extends Composite<Settings> {
  static className = 'TransformerBlock';

  constructor(args: TransformerBlockArgs) {
    super(args, parseArgs('transformerBlock', SCHEMA, args));
    if (this.settings.moe) requireChoices(this.settings.moe);
    this.#addNorm('ln_1');
    this.add('attn', (name) => new MultiHeadAttention(this.#attention(name)));
    this.#addNorm('ln_2');
  }

  override build(inputShape: Shape | Shape[]): void {
    const shape = firstShape(inputShape);
    // The width within the MLP may depend on that of the input.
    this.add('mlp', (name) => this.#mlp(name, shape.at(-1)!));
    this.restore();
    this.buildParts(shape, this.layers);
    super.build(inputShape);
  }

  override call(inputs: Tensor | Tensor[], kwargs: Kwargs): Tensor {
    return tidy(() => {
      const x = first(inputs);
      const [norm1, attention, norm2, mlp] = this.layers as [Layer, Layer, Layer, Layer];
      const others = Array.isArray(inputs) ? inputs.slice(1) : [];
      const attended = attention.call([norm1.call(x, kwargs) as Tensor, ...others], kwargs) as Tensor;
      const middle = add(x, this.#dropped(attended, kwargs));
      const fed = mlp.call(norm2.call(middle, kwargs) as Tensor, kwargs) as Tensor;
      return add(middle, this.#dropped(fed, kwargs));
    });
  }

  #dropped(x: Tensor, kwargs: Kwargs): Tensor {
    const { dropout } = this.settings;
    return dropout > 0 && kwargs?.['training'] === true ? dropoutOf(x, dropout) : x;
  }

  #addNorm(role: string): void {
    const { normalization, epsilon } = this.settings;
    this.add(role, (name) => {
      const args = { name, ...(epsilon !== undefined && { epsilon }) };
      return normalization === 'rms' ? new RmsNormalization(args) : new LastDimNormalization(args);
    });
  }

  get #useBias(): boolean {
    return this.settings.useBias ?? this.settings.mlp === 'gelu';
  }

  #attention(name: string) {
    const { heads, kvHeads, headDim, causal, fused, rotary, attentionDropout, parts } = this.settings;
    const shape = { heads, kvHeads, headDim, causal, fused, rotary, dropout: attentionDropout };
    return { name, ...shape, useBias: this.#useBias, ...this.#ranges(), parts: partsOf(parts, 'attn') };
  }

  #mlp(name: string, width: number): Layer {
    const { mlp, activation, innerUnits = 4 * width, parts, mlpBias = this.#useBias } = this.settings;
    const args = { name, innerUnits, useBias: mlpBias, ...this.#ranges(), parts: partsOf(parts, 'mlp') };
    const { moe } = this.settings;
    if (moe) return new Moe({ ...args, ...moe, mlp, activation: mlp === 'gelu' ? activation : undefined });
    return mlp === 'swiGlu' ? new SwiGlu(args) : new FeedForward({ ...args, activation });
  }

  #ranges() {
    const { initializerRange, outputInitializerRange } = this.settings;
    return { initializerRange, outputInitializerRange };
  }
}
