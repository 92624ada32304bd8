import { mul, tidy, type Tensor } from '@tensorflow/tfjs-core';
import { type layers, type Shape } from '@tensorflow/tfjs-layers';
import * as z from 'zod';
import type { ParallelLayer, ParallelPart } from '@acc/contract';
import { ACTIVATIONS, activationSchema, silu, type ActivationName } from './activations.js';
import { Composite, PROJECTIONS, type PartStates } from './composite.js';
import { parseArgs, type LayerArgs } from './layer-args.js';
import { first, firstShape, type Kwargs } from './shapes.js';

type Layer = InstanceType<typeof layers.Layer>;

interface InnerArgs extends LayerArgs {
  /** Whether the projections have biases. */
  readonly useBias?: boolean;
  /** The standard deviation of the projections' first values. Default: those of `dense`. */
  readonly initializerRange?: number;
  /** The same for the projection of the output. Default `initializerRange`. */
  readonly outputInitializerRange?: number;
}

export interface FeedForwardArgs extends InnerArgs {
  /** The width between the two projections. Default: 4 times that of the input. */
  readonly innerUnits?: number;
  /** Default `gelu_new`, which approximates by tanh. */
  readonly activation?: ActivationName;
}

export interface SwiGluArgs extends InnerArgs {
  /** The width between the projections. */
  readonly innerUnits: number;
}

const units = z.number().int().positive();
const FEED_FORWARD = z.object({
  innerUnits: units.optional(),
  activation: activationSchema.default('gelu_new'),
  useBias: z.boolean().default(true),
  ...PROJECTIONS,
});
const SWI_GLU = z.object({ innerUnits: units, useBias: z.boolean().default(false), ...PROJECTIONS });

interface Settings {
  readonly useBias: boolean;
  readonly initializerRange?: number | undefined;
  readonly outputInitializerRange?: number | undefined;
  readonly parts?: PartStates | undefined;
}

/** Projections into an inner width, and one back. */
abstract class Inner<S extends Settings> extends Composite<S> implements ParallelLayer {
  /** Each rank computes a part of the inner width. */
  parallelParts(): readonly ParallelPart[] {
    const { layers: parts } = this;
    return parts.map((layer, i) => ({ layer, cut: i < parts.length - 1 ? 'column' : 'row' }));
  }

  /** Makes and builds the projections of the roles `into`, and that back to the width of the input. */
  protected make(inputShape: Shape, into: readonly string[], back: string, inner: number): Layer[] {
    const { initializerRange, outputInitializerRange = initializerRange, useBias } = this.settings;
    const inputs = into.map((role) => this.addProjection(role, inner, initializerRange, useBias));
    const output = this.addProjection(back, inputShape.at(-1)!, outputInitializerRange, useBias);
    this.restore();
    this.buildParts(inputShape, inputs);
    this.buildParts([...inputShape.slice(0, -1), inner], [output]);
    return [...inputs, output];
  }
}

/** See {@link feedForward}. */
export class FeedForward extends Inner<z.output<typeof FEED_FORWARD>> {
  static className = 'FeedForward';

  constructor(args: FeedForwardArgs = {}) {
    super(args, parseArgs('feedForward', FEED_FORWARD, args));
  }

  override build(inputShape: Shape | Shape[]): void {
    const given = firstShape(inputShape);
    this.make(given, ['c_fc'], 'c_proj', this.settings.innerUnits ?? 4 * given.at(-1)!);
    super.build(inputShape);
  }

  override call(inputs: Tensor | Tensor[], kwargs: Kwargs): Tensor {
    return tidy(() => {
      const [widen, narrow] = this.layers as [Layer, Layer];
      const inner = ACTIVATIONS[this.settings.activation](widen.call(first(inputs), kwargs) as Tensor);
      return narrow.call(inner, kwargs) as Tensor;
    });
  }
}

/** See {@link swiGlu}. */
export class SwiGlu extends Inner<z.output<typeof SWI_GLU>> {
  static className = 'SwiGlu';

  constructor(args: SwiGluArgs) {
    super(args, parseArgs('swiGlu', SWI_GLU, args));
  }

  override build(inputShape: Shape | Shape[]): void {
    const into = ['gate_proj', 'up_proj'];
    this.make(firstShape(inputShape), into, 'down_proj', this.settings.innerUnits);
    super.build(inputShape);
  }

  override call(inputs: Tensor | Tensor[], kwargs: Kwargs): Tensor {
    return tidy(() => {
      const x = first(inputs);
      const [gate, up, down] = this.layers as [Layer, Layer, Layer];
      const gated = mul(silu(gate.call(x, kwargs) as Tensor), up.call(x, kwargs) as Tensor);
      return down.call(gated, kwargs) as Tensor;
    });
  }
}
