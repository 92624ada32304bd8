import * as tf from '@tensorflow/tfjs';

type Layer = tf.layers.Layer;

/** One way to use layers, small enough for tfjs's cpu backend to train. */
export interface LayerCase {
  /** Shapes of the inputs, without the batch. */
  readonly inputs: readonly (readonly number[])[];
  /** What the inputs hold. `padded`: floats that are 0 from a step on that differs by sample. Default `floats`. */
  readonly holds?: 'floats' | 'padded' | 'ids';
  /** Samples. Default 4. */
  readonly batch?: number;
  /** Whether the case begins with `Scale`, so that its inputs' gradients are compared. Default true, and false for ids. */
  readonly scaled?: boolean;
  /** The layer, or several in a chain. `layers` is `tf.layers`, handed in so that it can be seen which are used. */
  readonly make: (layers: typeof tf.layers) => Layer | Layer[];
  /** Default the mean squared error. */
  readonly loss?: tf.ModelCompileArgs['loss'];
  readonly metrics?: string[];
  /** What the targets hold: `oneHot` rows, class ids (the output's shape with 1 at its end). Default floats in [0, 1). */
  readonly targets?: 'floats' | 'oneHot' | 'classes';
  /** The batch size is part of the model, as stateful layers want it. */
  readonly fixedBatch?: boolean;
}

/** Cases by what they show. */
export type LayerCases = Readonly<Record<string, LayerCase>>;

/** The members of `tf.layers` that the cases call. */
export function membersUsed(cases: readonly LayerCase[]): Set<string> {
  const used = new Set<string>();
  const layers = new Proxy(tf.layers, {
    get(target, name: keyof typeof tf.layers) {
      used.add(name);
      return target[name];
    },
  });
  for (const { make } of cases) make(layers);
  return used;
}
