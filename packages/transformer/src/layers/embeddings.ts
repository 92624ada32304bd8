import {
  add,
  cast,
  gather,
  matMul,
  reshape,
  slice,
  tidy,
  type serialization,
  type Tensor,
  type Tensor2D,
} from '@tensorflow/tfjs-core';
import { layers, type Shape } from '@tensorflow/tfjs-layers';
import * as z from 'zod';
import { AccError, type ParallelLayer, type ParallelPart } from '@acc/contract';
import { sequenceOffset } from '@acc/kernels';
import { normal } from './initializer.js';
import { cacheIn } from './key-value-cache.js';
import { parseArgs, type LayerArgs } from './layer-args.js';
import { first, firstShape, widthOf, type Kwargs } from './shapes.js';

export interface TokenEmbeddingArgs extends LayerArgs {
  /** The number of tokens. */
  readonly vocabularySize: number;
  /** The number of numbers that describe a token. */
  readonly units: number;
  /** The standard deviation of the first values. Default 0.02. */
  readonly initializerRange?: number;
}

export interface PositionEmbeddingArgs extends LayerArgs {
  /** The number of positions. */
  readonly positions: number;
  /** The standard deviation of the first values. Default 0.02. */
  readonly initializerRange?: number;
}

const count = z.number().int().positive();
const stddev = z.number().nonnegative().default(0.02);
const TOKENS = z.object({ vocabularySize: count, units: count, initializerRange: stddev });
const POSITIONS = z.object({ positions: count, initializerRange: stddev });

type Layer = InstanceType<typeof layers.Layer>;
type Weight = ReturnType<Layer['weights']['at']>;

/** See {@link tokenEmbedding}. */
export class TokenEmbedding extends layers.Layer implements ParallelLayer {
  static className = 'TokenEmbedding';
  readonly #settings: z.output<typeof TOKENS>;
  #table: Weight;
  #givesLogits = false;

  constructor(args: TokenEmbeddingArgs) {
    super(args);
    this.#settings = parseArgs('tokenEmbedding', TOKENS, args);
  }

  /** The number of tokens. */
  get vocabularySize(): number {
    return this.#settings.vocabularySize;
  }

  /** Each rank has the rows of some tokens. */
  parallelParts(): readonly ParallelPart[] {
    return [{ layer: this, cut: 'vocab' }];
  }

  override build(inputShape: Shape | Shape[]): void {
    const { vocabularySize, units, initializerRange } = this.#settings;
    this.#table = this.addWeight('embeddings', [vocabularySize, units], 'float32', normal(initializerRange));
    super.build(inputShape);
  }

  override computeOutputShape(inputShape: Shape | Shape[]): Shape {
    const shape = firstShape(inputShape);
    const { vocabularySize, units } = this.#settings;
    if (shape.length < 3) return [...shape, units];
    this.#givesLogits = true;
    return [...shape.slice(0, 2), vocabularySize];
  }

  override call(inputs: Tensor | Tensor[]): Tensor {
    return tidy(() => {
      const x = first(inputs);
      const table = this.#table!.read() as Tensor2D;
      if (x.rank < 3) return gather(table, cast(x, 'int32'));
      const { vocabularySize, units } = this.#settings;
      const rows = reshape(x, [-1, units]) as Tensor2D;
      return reshape(matMul(rows, table, false, true), [...x.shape.slice(0, 2), vocabularySize]);
    });
  }

  /** tfjs-layers counts calls of a layer as its models. A model that calls it twice disposes it once. */
  override dispose(): ReturnType<Layer['dispose']> {
    const result = super.dispose();
    return this.#givesLogits && result.refCountAfterDispose > 0 ? super.dispose() : result;
  }

  override getConfig(): serialization.ConfigDict {
    return { ...super.getConfig(), ...this.#settings };
  }
}

/** See {@link positionEmbedding}. */
export class PositionEmbedding extends layers.Layer {
  static className = 'PositionEmbedding';
  readonly #settings: z.output<typeof POSITIONS>;
  #table: Weight;

  constructor(args: PositionEmbeddingArgs) {
    super(args);
    this.#settings = parseArgs('positionEmbedding', POSITIONS, args);
    this.supportsMasking = true;
  }

  /** The number of positions that the layer knows. */
  get positions(): number {
    return this.#settings.positions;
  }

  override build(inputShape: Shape | Shape[]): void {
    const { positions, initializerRange } = this.#settings;
    const shape = [positions, widthOf(inputShape)];
    this.#table = this.addWeight('embeddings', shape, 'float32', normal(initializerRange));
    super.build(inputShape);
  }

  override call(inputs: Tensor | Tensor[], kwargs: Kwargs): Tensor {
    return tidy(() => {
      const x = first(inputs);
      const length = x.shape[1]!;
      const offset = sequenceOffset(length) + (cacheIn(kwargs)?.length ?? 0);
      if (offset + length > this.positions) throw tooLong(this.name, offset + length, this.positions);
      return add(x, slice(this.#table!.read(), [offset, 0], [length, -1]));
    });
  }

  override getConfig(): serialization.ConfigDict {
    return { ...super.getConfig(), ...this.#settings };
  }
}

function tooLong(layer: string, length: number, positions: number): AccError {
  return new AccError(
    'ACC_SEQUENCE_TOO_LONG',
    `${layer}: the sequence has ${length} positions, but the layer has been made for ${positions}.`,
    { help: 'Shorten the sequence, or generate fewer tokens.', details: { length, positions } },
  );
}
