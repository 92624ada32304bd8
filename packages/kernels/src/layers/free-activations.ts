import { Tensor } from '@tensorflow/tfjs-core';
import { ownClassName, patch, type GraphLayer, type GraphModel } from '@acc/tfjs-internals';

/**
 * Layers of tfjs that have no more use for an input once they were called and have given their mask. Those that make a mask of
 * what they are given (Embedding, Masking) keep it for longer.
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
 * Has a model free the result of a layer, in training too, as soon as the last layer that takes it was called; what a
 * gradient needs of it is saved. tfjs does so in prediction only, and in training keeps all until the forward pass has ended.
 *
 * Freed is what lies between layers that each have one place in the model, when the next are tfjs's own. Nothing is when
 * layers are called from outside of the model.
 *
 * @returns Gives the model its own way back.
 */
export function freeActivations(model: object): () => void {
  const graph = model as GraphModel;
  const { layers, outputs } = graph;
  const members = new Set(layers);
  /** Exists while the model runs. */
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
    return patch(layer, 'apply', (own) => (inputs, kwargs) => {
      uses?.releaseMasked();
      const result = own.call(layer, inputs, kwargs);
      if (!uses || !kwargs?.training) return result;
      const taken = [inputs].flat() as Tensor[];
      // tfjs gives the mask of the first input only, which may have none while others have one.
      if ('mask' in kwargs) uses.releaseLater(taken);
      else uses.release(taken);
      if (count > 0 && result instanceof Tensor) uses.expect(result, count);
      return result;
    });
  });
  undos.push(
    patch(graph, 'call', (own) => (inputs, kwargs) => whileRunning(() => own.call(graph, inputs, kwargs))),
    patch(graph, 'makeTrainFunction', (own) => () => {
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

/** How many layers take the result of `layer`; 0 when it is not to be freed. */
function usesOf(layer: GraphLayer, members: ReadonlySet<GraphLayer>, outputs: readonly unknown[]): number {
  const consumers = new Set(layer.outboundNodes.map(({ outboundLayer }) => outboundLayer));
  const isOutput = outputs.includes(layer.inboundNodes[0]!.outputTensors[0]);
  const isFreed = [...consumers].every(
    (consumer) => members.has(consumer) && hasOnePlace(consumer) && CONSUMERS.has(ownClassName(consumer)),
  );
  return isFreed && !isOutput ? consumers.size : 0;
}

/** Uses that are left of the tensors between the layers of a model that runs. */
class Uses {
  readonly #left = new Map<Tensor, number>();
  /** What the latest layer has taken, if it was given masks. */
  #masked: readonly Tensor[] = [];

  expect(result: Tensor, count: number): void {
    this.#left.set(result, count);
  }

  /** A layer has taken the tensors. */
  release(taken: readonly Tensor[]): void {
    for (const input of new Set(taken)) {
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

  /** As `release`, at the next layer's call: after a call with masks tfjs asks the layer for its own, which may look at its inputs. */
  releaseLater(taken: readonly Tensor[]): void {
    this.#masked = taken;
  }

  releaseMasked(): void {
    const taken = this.#masked;
    this.#masked = [];
    this.release(taken);
  }
}
