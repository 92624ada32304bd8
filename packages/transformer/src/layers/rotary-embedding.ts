import { type serialization, tidy, type Tensor } from '@tensorflow/tfjs-core';
import { layers } from '@tensorflow/tfjs-layers';
import * as z from 'zod';
import { cacheIn } from './key-value-cache.js';
import { parseArgs, type LayerArgs } from './layer-args.js';
import { rotaryShape, rotated, type RotaryEmbeddingOptions, type RotarySettings } from './rotary.js';
import { first, type Kwargs } from './shapes.js';

export interface RotaryEmbeddingArgs extends LayerArgs, RotaryEmbeddingOptions {}

const SCHEMA = z.object(rotaryShape);

/** See {@link rotaryEmbedding}. */
export class RotaryEmbedding extends layers.Layer {
  static className = 'RotaryEmbedding';
  readonly #settings: RotarySettings;

  constructor(args: RotaryEmbeddingArgs = {}) {
    super(args);
    this.#settings = parseArgs('rotaryEmbedding', SCHEMA, args);
    this.supportsMasking = true;
  }

  override call(inputs: Tensor | Tensor[], kwargs: Kwargs): Tensor {
    return tidy(() => rotated(first(inputs), this.#settings, cacheIn(kwargs)?.length ?? 0));
  }

  override getConfig(): serialization.ConfigDict {
    return { ...super.getConfig(), ...(this.#settings as serialization.ConfigDict) };
  }
}
