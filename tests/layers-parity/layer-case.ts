import * as tf from '@tensorflow/tfjs';

type Layer = tf.layers.Layer;

/** A use of layers that is small enough to be trained on tfjs's cpu backend. */
export interface LayerCase {
  /** Shapes of the inputs, without the batch dim. */
  readonly inputs: readonly (readonly number[])[];
  /**
   * The contents of the inputs. `padded`: floats that are 0 from some step on, which differs
   * between samples. Default `floats`.
   */
  readonly holds?: 'floats' | 'padded' | 'ids';
  /** The number of samples. Default 4. */
  readonly batch?: number;
  /**
   * Whether the case begins with `Scale`, so that the gradients of its inputs are compared. Default
   * true, and false for ids.
   */
  readonly scaled?: boolean;
  /**
   * The layer, or several in a chain. `layers` is `tf.layers`. It is passed in, so that the used
   * members can be recorded.
   */
  readonly make: (layers: typeof tf.layers) => Layer | Layer[];
  /** The loss. Default the mean squared error. */
  readonly loss?: tf.ModelCompileArgs['loss'];
  readonly metrics?: string[];
  /**
   * The contents of the targets: `oneHot` rows, or class ids (the output's shape with 1 at its
   * end). Default: floats in [0, 1).
   */
  readonly targets?: 'floats' | 'oneHot' | 'classes';
  /** Whether the batch size is part of the model, which stateful layers need. */
  readonly fixedBatch?: boolean;
}

/** Cases by their names. */
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
