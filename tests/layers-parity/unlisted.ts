import * as tf from '@tensorflow/tfjs';

/**
 * Calls a layer on a tensor, as its documentation shows. Some of tfjs's layers that prepare images
 * cannot be used in a model directly: their `call` does not accept the list that models pass, or
 * their `computeOutputShape` leaves the batch out or changes the given shape.
 */
export class Unlisted extends tf.layers.Layer {
  static readonly className = 'Unlisted';

  /**
   * @param outputShape With null for the batch, and for sizes that are known only when the layer
   * runs.
   */
  constructor(
    private readonly layer: tf.layers.Layer,
    private readonly outputShape_: tf.Shape,
  ) {
    super({});
  }

  override computeOutputShape(): tf.Shape {
    return this.outputShape_;
  }

  override call(inputs: tf.Tensor | tf.Tensor[]): tf.Tensor {
    const [x] = [inputs].flat();
    return this.layer.call(x!, {}) as tf.Tensor;
  }
}
