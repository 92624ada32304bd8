import { Tensor } from '@tensorflow/tfjs-core';
import { tfjsClassName, patch, type GraphLayer, type GraphModel } from '@acc/tfjs-internals';

/**
 * Layers of tfjs that no longer need their input once their call and the computation of their mask
 * are over. Layers that compute a mask from their input (Embedding, Masking) keep it longer.
 */
const CONSUMERS: ReadonlySet<string | undefined> = new Set([
  ...[
    'Conv1D',
    'Conv2D',
    'Conv2DTranspose',
    'Conv3D',
    'Conv3DTranspose',
    'DepthwiseConv2D',
    'SeparableConv2D',
  ],
  ...['Dense', 'Activation', 'ReLU', 'LeakyReLU', 'PReLU', 'ELU', 'ThresholdedReLU', 'Softmax'],
  ...['BatchNormalization', 'LayerNormalization', 'Dropout', 'SpatialDropout1D', 'GaussianNoise'],
  ...['Add', 'Multiply', 'Average', 'Maximum', 'Minimum', 'Concatenate', 'Dot'],
  ...['Flatten', 'Reshape', 'Permute', 'RepeatVector', 'ZeroPadding2D', 'Cropping2D', 'UpSampling2D'],
  ...[
    'MaxPooling1D',
    'MaxPooling2D',
    'MaxPooling3D',
    'AveragePooling1D',
    'AveragePooling2D',
    'AveragePooling3D',
  ],
  ...['GlobalAveragePooling1D', 'GlobalAveragePooling2D', 'GlobalMaxPooling1D', 'GlobalMaxPooling2D'],
]);

/**
 * Makes a model free the result of a layer as soon as the last layer that takes it has run, in
 * training too. Tensors that a gradient needs are saved separately. tfjs frees results in
 * prediction only; in training it keeps them all until the end of the forward pass.
 *
 * Only results between layers that have one place each in the model are freed, and only if every
 * consumer is one of tfjs's own layers. Calls of layers from outside the model free nothing.
 *
 * @returns A function that restores the model's own behaviour.
 */
export function freeActivations(model: object): () => void {
  const graph = model as GraphModel;
  const { layers, outputs } = graph;
  const members = new Set(layers);
  /** Defined while the model runs. */
  let uses: Uses | undefined;

  const whileRunning = <T>(run: () => T): T => {
    const before = uses;
    uses = new Uses();
    try {
      return run();
    } finally {
      uses = before;
    }
  };

  const undos = layers.filter(hasOnePlace).map((layer) => {
    const count = usesOf(layer, members, outputs);
    return patch(layer, 'apply', 'freed activations', (own) => (inputs, kwargs) => {
      uses?.releaseMasked();
      const result = own.call(layer, inputs, kwargs);
      if (!uses || !kwargs?.training) return result;
      const taken = (Array.isArray(inputs) ? inputs : [inputs]) as Tensor[];
      // tfjs passes the mask of the first input only. That mask may be missing while other inputs
      // have one.
      if ('mask' in kwargs) uses.releaseLater(taken);
      else uses.release(taken);
      if (count > 0 && result instanceof Tensor) uses.expect(result, count);
      return result;
    });
  });
  undos.push(
    patch(
      graph,
      'call',
      'freed activations',
      (own) => (inputs, kwargs) => whileRunning(() => own.call(graph, inputs, kwargs)),
    ),
    patch(graph, 'makeTrainFunction', 'freed activations', (own) => () => {
      const train = own.call(graph);
      return (data) => whileRunning(() => train(data));
    }),
  );
  return () => {
    for (const undo of undos.splice(0)) undo();
  };
}

const hasOnePlace = ({ inboundNodes }: GraphLayer): boolean =>
  inboundNodes.length === 1 && inboundNodes[0]!.outputTensors.length === 1;

/** The number of layers that take the result of `layer`; 0 if the result must not be freed. */
function usesOf(layer: GraphLayer, members: ReadonlySet<GraphLayer>, outputs: readonly unknown[]): number {
  const consumers = new Set(layer.outboundNodes.map(({ outboundLayer }) => outboundLayer));
  const isOutput = outputs.includes(layer.inboundNodes[0]!.outputTensors[0]);
  const isFreed = [...consumers].every(
    (consumer) => members.has(consumer) && hasOnePlace(consumer) && CONSUMERS.has(tfjsClassName(consumer)),
  );
  return isFreed && !isOutput ? consumers.size : 0;
}

/** The remaining uses of the tensors between the layers of a running model. */
class Uses {
  readonly #left = new Map<Tensor, number>();
  /** Inputs of the latest layer, if it was called with masks. */
  #masked: readonly Tensor[] | undefined;

  expect(result: Tensor, count: number): void {
    this.#left.set(result, count);
  }

  /** Counts one use of each tensor in `taken`, and disposes a tensor after its last use. */
  release(taken: readonly Tensor[]): void {
    for (const input of taken.length > 1 ? new Set(taken) : taken) {
      const left = this.#left.get(input);
      if (left === undefined) continue;
      if (left > 1) {
        this.#left.set(input, left - 1);
        continue;
      }
      this.#left.delete(input);
      if (!input.kept) input.dispose();
    }
  }

  /**
   * Like `release`, but at the next layer's call: after a call with masks, tfjs asks the layer for
   * its own mask, which may depend on its inputs.
   */
  releaseLater(taken: readonly Tensor[]): void {
    this.#masked = taken;
  }

  releaseMasked(): void {
    const taken = this.#masked;
    this.#masked = undefined;
    if (taken) this.release(taken);
  }
}
