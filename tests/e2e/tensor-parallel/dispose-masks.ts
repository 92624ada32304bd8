import * as tf from '@tensorflow/tfjs';

interface Recurrent {
  readonly cell?: Readonly<Partial<Record<'dropoutMask' | 'recurrentDropoutMask', tf.TensorContainer>>>;
}

/** Disposes the masks of dropout that recurrent layers of tfjs keep from their last call. */
export function disposeMasks(model: tf.LayersModel): void {
  for (const layer of model.layers) {
    const { cell } = layer as unknown as Recurrent;
    tf.dispose([cell?.dropoutMask ?? [], cell?.recurrentDropoutMask ?? []]);
  }
}
