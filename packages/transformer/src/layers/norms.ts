import { type serialization, tidy, type Tensor } from '@tensorflow/tfjs-core';
import { initializers, layers, type Shape } from '@tensorflow/tfjs-layers';
import * as z from 'zod';
import { layerNorm, rmsNorm } from '@acc/kernels';
import { parseArgs, type LayerArgs } from './layer-args.js';
import { first, widthOf } from './shapes.js';

export interface RmsNormalizationArgs extends LayerArgs {
  /** Added to the mean square. Default 1e-6. */
  readonly epsilon?: number;
}

const RMS = z.object({ epsilon: z.number().nonnegative().default(1e-6) });
const LAYER = z.object({ epsilon: z.number().nonnegative().default(1e-5) });

type Weight = ReturnType<InstanceType<typeof layers.Layer>['weights']['at']>;

/** See {@link rmsNormalization}. */
export class RmsNormalization extends layers.Layer {
  static className = 'RmsNormalization';
  readonly #epsilon: number;
  #gamma: Weight;

  constructor(args: RmsNormalizationArgs = {}) {
    super(args);
    this.#epsilon = parseArgs('rmsNormalization', RMS, args).epsilon;
    this.supportsMasking = true;
  }

  override build(inputShape: Shape | Shape[]): void {
    this.#gamma = this.addWeight('gamma', [widthOf(inputShape)], 'float32', initializers.ones());
    super.build(inputShape);
  }

  override call(inputs: Tensor | Tensor[]): Tensor {
    return tidy(() => rmsNorm(first(inputs), this.#gamma!.read(), { epsilon: this.#epsilon }));
  }

  override getConfig(): serialization.ConfigDict {
    return { ...super.getConfig(), epsilon: this.#epsilon };
  }
}

/**
 * Layer normalisation over the last dim, as one kernel on `acc` before the model is prepared, too.
 * Its weights are those of `tf.layers.layerNormalization`.
 */
export class LastDimNormalization extends layers.Layer {
  static className = 'LastDimNormalization';
  readonly #epsilon: number;
  #gamma: Weight;
  #beta: Weight;

  constructor(args: RmsNormalizationArgs = {}) {
    super(args);
    this.#epsilon = parseArgs('layerNormalization', LAYER, args).epsilon;
    this.supportsMasking = true;
  }

  override build(inputShape: Shape | Shape[]): void {
    const shape = [widthOf(inputShape)];
    this.#gamma = this.addWeight('gamma', shape, 'float32', initializers.ones());
    this.#beta = this.addWeight('beta', shape, 'float32', initializers.zeros());
    super.build(inputShape);
  }

  override call(inputs: Tensor | Tensor[]): Tensor {
    const options = { epsilon: this.#epsilon };
    return tidy(() => layerNorm(first(inputs), this.#gamma!.read(), this.#beta!.read(), options));
  }

  override getConfig(): serialization.ConfigDict {
    return { ...super.getConfig(), epsilon: this.#epsilon };
  }
}
