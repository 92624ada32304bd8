import * as tf from '@tensorflow/tfjs';

/**
 * Multiplies each element of a sample by its own weight. The gradient of that weight shows the
 * gradient of the element.
 */
export class Scale extends tf.layers.Layer {
  static readonly className = 'Scale';
  override supportsMasking = true;
  #factor!: tf.LayerVariable;

  override build(shape: tf.Shape): void {
    this.#factor = this.addWeight('factor', shape.slice(1), 'float32', tf.initializers.ones());
    this.built = true;
  }

  override call(inputs: tf.Tensor | tf.Tensor[]): tf.Tensor {
    const [x] = Array.isArray(inputs) ? inputs : [inputs];
    return tf.mul(x!, this.#factor.read());
  }
}
