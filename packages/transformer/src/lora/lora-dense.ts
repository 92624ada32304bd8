import {
  add,
  fused,
  matMul,
  mul,
  reshape,
  type serialization,
  tidy,
  type Tensor,
  type Tensor2D,
} from '@tensorflow/tfjs-core';
import { initializers, layers } from '@tensorflow/tfjs-layers';
import * as z from 'zod';
import { dropout as dropoutOf } from '@acc/kernels';
import { addWeightTo, isTfjsClass, removeWeightsFrom } from '@acc/tfjs-internals';
import { first, type Kwargs } from '../layers/shapes.js';

/** The settings of the adapter of one layer. */
export interface LoraSettings {
  /** The number of columns of A, and of rows of B. */
  readonly rank: number;
  /** The product A·B is scaled by alpha / rank. */
  readonly alpha: number;
  /** The probability that an element of the input of A is dropped in training. */
  readonly dropout: number;
}

export const loraShape = {
  rank: z.number().int().positive(),
  alpha: z.number().positive(),
  dropout: z.number().min(0).lt(1).default(0),
};

type Weight = InstanceType<typeof layers.Layer>['weights'][number];

/** A dense layer as it is inside. */
export type Dense = InstanceType<typeof layers.Layer> & {
  readonly kernel: Weight;
  readonly bias: Weight | null;
  readonly activation: { apply(x: Tensor): Tensor };
  readonly units: number;
};

interface Adapter extends LoraSettings {
  /** `[inputs, rank]` and `[rank, units]`. Undefined until the layer is built. */
  a?: Weight;
  b?: Weight;
}

const adapters = new WeakMap<object, Adapter>();

type DenseClass = serialization.SerializableConstructor<Dense> & { readonly prototype: Dense };

let made: { readonly dense: DenseClass; readonly lora: DenseClass } | undefined;

/** tfjs-layers exports no class of dense layers. Importing this module must not make a layer. */
function classes(): { readonly dense: DenseClass; readonly lora: DenseClass } {
  made ??= makeClasses();
  return made;
}

function makeClasses() {
  const dense = layers.dense({ units: 1, name: 'dense' }).constructor as unknown as DenseClass;
  const Base = dense as unknown as new (args: object) => Dense;

  /** A dense layer with a low-rank adapter: act(x·W + b + alpha/rank · x·A·B). */
  class LoraDense extends Base {
    static className = 'LoraDense';

    constructor(args: { readonly lora: LoraSettings }) {
      super(args);
      adapters.set(this, { ...args.lora });
    }

    override build(inputShape: (number | null)[]): void {
      super.build(inputShape);
      addAdapter(this, '');
      freezeBase(this);
    }

    override call(inputs: Tensor | Tensor[], kwargs: Kwargs): Tensor {
      return tidy(() => adapted(this, first(inputs), kwargs?.['training'] === true));
    }

    override getConfig(): serialization.ConfigDict {
      return { ...super.getConfig(), lora: loraOf(this) as unknown as serialization.ConfigDict };
    }
  }
  return { dense, lora: LoraDense as unknown as DenseClass };
}

/** The class that saved models with adapters need. */
export const loraDenseClass = (): DenseClass => classes().lora;

/** Whether a layer is a dense layer of tfjs-layers, with or without an adapter. */
export function isDense(layer: object): layer is Dense {
  return isTfjsClass(layer, 'Dense') || adapters.has(layer);
}

/** The settings of a layer's adapter, if it has one. */
export function loraOf(layer: object): LoraSettings | undefined {
  const adapter = adapters.get(layer);
  return adapter && { rank: adapter.rank, alpha: adapter.alpha, dropout: adapter.dropout };
}

/** A and B of a layer with an adapter. */
export function adapterWeights(layer: Dense): { readonly a: Weight; readonly b: Weight } {
  const { a, b } = adapters.get(layer)!;
  return { a: a!, b: b! };
}

/**
 * Gives a dense layer an adapter. The layer stays the same object, because models hold it in many
 * places; its class changes, so that it is saved with the adapter.
 */
export function makeLoraDense(layer: object, settings: LoraSettings): void {
  const dense = layer as Dense;
  Object.setPrototypeOf(dense, classes().lora.prototype);
  adapters.set(dense, { ...settings });
  if (!dense.built) return;
  addAdapter(dense, `${dense.kernel.originalName.replace(/kernel$/, '')}`);
  freezeBase(dense);
}

/** Freezes the weights of the layer itself. Those of its adapter stay trainable. */
function freezeBase(layer: Dense): void {
  layer.trainable = true;
  layer.kernel.trainable = false;
  if (layer.bias) layer.bias.trainable = false;
}

/** Adds scale · A·B to the kernel, and takes the adapter away. The kernel stays frozen. */
export function mergeAdapter(layer: Dense): void {
  const { rank, alpha } = adapters.get(layer)!;
  const { a, b } = adapterWeights(layer);
  tidy(() => {
    layer.kernel.write(add(layer.kernel.read(), mul(product(a, b), alpha / rank)));
  });
  removeWeightsFrom(layer, [a, b] as never);
  a.dispose();
  b.dispose();
  adapters.delete(layer);
  Object.setPrototypeOf(layer, classes().dense.prototype);
  layer.trainable = false;
}

const product = (a: Weight, b: Weight): Tensor => matMul(a.read() as Tensor2D, b.read() as Tensor2D);

/**
 * A begins as PyTorch's linear layers do, uniform within ±1/√inputs, and B with zeros (Hu et al.
 * 2021; PEFT).
 */
function addAdapter(layer: Dense, prefix: string): void {
  const adapter = adapters.get(layer)!;
  const [inputs, units] = layer.kernel.shape as [number, number];
  const uniform = initializers.varianceScaling({ scale: 1 / 3, mode: 'fanIn', distribution: 'uniform' });
  const { rank } = adapter;
  const weight = (name: string, shape: number[], initializer: object) =>
    addWeightTo(layer, prefix + name, { shape, initializer }) as unknown as Weight;
  adapter.a = weight('lora_A', [inputs, rank], uniform);
  adapter.b = weight('lora_B', [rank, units], initializers.zeros());
}

function adapted(layer: Dense, x: Tensor, training: boolean): Tensor {
  const { rank, alpha, dropout } = adapters.get(layer)!;
  const { a, b } = adapterWeights(layer);
  const rows = reshape(x, [-1, x.shape.at(-1)!]) as Tensor2D;
  const bias = layer.bias?.read();
  const base = fused.matMul({ a: rows, b: layer.kernel.read() as Tensor2D, ...(bias && { bias }) });
  const seen = training && dropout > 0 ? dropoutOf(rows, dropout) : rows;
  const low = matMul(seen, a.read() as Tensor2D);
  const change = mul(matMul(low, b.read() as Tensor2D), alpha / rank);
  const y = layer.activation.apply(add(base, change));
  return reshape(y, [...x.shape.slice(0, -1), layer.units]);
}
