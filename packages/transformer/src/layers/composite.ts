import type { serialization } from '@tensorflow/tfjs-core';
import { layers, type Shape } from '@tensorflow/tfjs-layers';
import * as z from 'zod';
import { buildPart, takeWeightsOf } from '@acc/tfjs-internals';
import { normalOrDefault } from './initializer.js';
import { loraOf, makeLoraDense, type LoraSettings } from '../lora/lora-dense.js';
import type { LayerArgs } from './layer-args.js';

type Layer = InstanceType<typeof layers.Layer>;

/** How a part differs from what its layer makes. */
export interface PartState {
  /** The role of the part. tfjs-layers changes other strings and keys in files, but no `name`. */
  readonly name: string;
  readonly trainable?: false;
  readonly lora?: LoraSettings;
  /** The states of the parts of a part. */
  readonly parts?: PartStates;
}

/** The parts of a layer that are frozen or have adapters. Saved with the layer. */
export type PartStates = readonly PartState[];

/** The settings of a {@link Composite}. */
interface CompositeSettings {
  readonly parts?: PartStates | undefined;
}

/** Options of all layers that are made of projections. */
export const PROJECTIONS = {
  initializerRange: z.number().nonnegative().optional(),
  outputInitializerRange: z.number().nonnegative().optional(),
  parts: z.custom<PartStates>().optional(),
};

/** The states of a part's own parts that {@link Composite} has saved. */
export function partsOf(states: PartStates | undefined, role: string): PartStates | undefined {
  return states?.find(({ name }) => name === role)?.parts;
}

/**
 * A layer that is made of layers. Their names are `<its own name>/<role>`, as are the names of
 * their weights. Packages that look into layers find them by `layers`.
 */
export abstract class Composite<S extends CompositeSettings = CompositeSettings> extends layers.Layer {
  protected readonly settings: S;
  readonly #parts = new Map<string, Layer>();
  /** The name of the outermost layer, with which tfjs-layers begins the names of weights. */
  #root: string;

  constructor(args: LayerArgs, settings: S) {
    super(args);
    this.settings = settings;
    this.#root = this.name;
    this.supportsMasking = true;
    takeWeightsOf(this, () => this.layers);
  }

  /** The parts, in the order of their use. */
  get layers(): Layer[] {
    return [...this.#parts.values()];
  }

  override computeOutputShape(inputShape: Shape | Shape[]): Shape | Shape[] {
    return Array.isArray(inputShape[0]) ? inputShape[0] : inputShape;
  }

  /** tfjs-layers does not dispose parts: their weights are those of this layer. */
  override dispose(): ReturnType<Layer['dispose']> {
    const result = super.dispose();
    if (result.refCountAfterDispose === 0) this.#disposeTensors();
    return result;
  }

  override getConfig(): serialization.ConfigDict {
    const { parts: _, ...settings } = this.settings;
    const states = this.#states();
    const config = { ...super.getConfig(), ...(settings as serialization.ConfigDict) };
    return states.length > 0 ? { ...config, parts: states as never } : config;
  }

  /** Disposes tensors besides weights. For layers that keep some. */
  protected disposeOwnTensors(): void {}

  protected add<T extends Layer>(role: string, make: (name: string) => T): T {
    const part = make(`${this.name}/${role}`);
    this.#parts.set(role, part);
    return part;
  }

  /** Adds a dense layer without an activation. `range` is the standard deviation of its first values. */
  protected addProjection(role: string, units: number, range: number | undefined, useBias: boolean): Layer {
    const kernelInitializer = normalOrDefault(range);
    return this.add(role, (name) =>
      layers.dense({ name, units, useBias, ...(kernelInitializer && { kernelInitializer }) }),
    );
  }

  /** Builds parts that all have one input shape. */
  protected buildParts(inputShape: Shape, parts: readonly Layer[]): void {
    for (const part of parts) {
      if (part instanceof Composite) part.#root = this.#root;
      buildPart(part, part.name.slice(this.#root.length + 1), inputShape);
      part.built = true;
      // Weights that were made just now are trainable.
      if (!part.trainable) part.trainable = false;
    }
  }

  /** Restores what {@link getConfig} saved, after the parts were made and before they are built. */
  protected restore(): void {
    for (const { name, trainable, lora } of this.settings.parts ?? []) {
      const part = this.#parts.get(name)!;
      if (trainable === false) part.trainable = false;
      if (lora) makeLoraDense(part, lora);
    }
  }

  #disposeTensors(): void {
    this.disposeOwnTensors();
    for (const part of this.layers) if (part instanceof Composite) part.#disposeTensors();
  }

  #states(): PartState[] {
    return [...this.#parts].flatMap(([name, part]): PartState[] => {
      const lora = loraOf(part);
      const parts = part instanceof Composite ? part.#states() : [];
      const isFrozen = this.trainable && !part.trainable;
      if (!isFrozen && !lora && parts.length === 0) return [];
      const own = { ...(isFrozen && { trainable: false as const }), ...(lora && { lora }) };
      return [{ name, ...own, ...(parts.length > 0 && { parts }) }];
    });
  }
}
