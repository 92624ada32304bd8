import type { layers, LayersModel, SymbolicTensor, Variable } from '@tensorflow/tfjs';
import { classifier } from './classifier.js';
import type { BenchModel, Tf } from './model.js';

export interface ResnetSizes {
  /** Height and width of the RGB image, in pixels. */
  readonly image: number;
  /** The filters of each stage. Each stage after the first begins by halving the image. */
  readonly widths: readonly number[];
  readonly blocksPerStage: number;
  readonly classes: number;
}

type Layer = ReturnType<typeof layers.conv2d> | ReturnType<typeof layers.batchNormalization>;

/**
 * The CIFAR ResNet of He et al. 2015 (arXiv:1512.03385, section 4.2): ResNet-20 with three blocks
 * in each of three stages. If a stage changes the shape, the shortcut is a 1×1 projection (option
 * B). Batch normalisation has PyTorch's momentum and epsilon. The strided 3×3 convolutions have
 * PyTorch's padding of one pixel on every side.
 */
export function createResnet(tf: Tf, { image, widths, blocksPerStage, classes }: ResnetSizes): BenchModel {
  const withWeights: Layer[] = [];

  function convolve(x: SymbolicTensor, filters: number, kernelSize: number, strides: number): SymbolicTensor {
    const isPaddedApart = strides > 1 && kernelSize > 1;
    const conv = tf.layers.conv2d({
      ...{ filters, kernelSize, strides, useBias: false, kernelInitializer: 'heNormal' as const },
      padding: isPaddedApart ? 'valid' : 'same',
    });
    const norm = tf.layers.batchNormalization({ momentum: 0.9, epsilon: 1e-5 });
    withWeights.push(conv, norm);
    const padded = isPaddedApart ? tf.layers.zeroPadding2d({ padding: 1 }).apply(x) : x;
    return norm.apply(conv.apply(padded)) as SymbolicTensor;
  }

  const relu = (x: SymbolicTensor) => tf.layers.reLU().apply(x) as SymbolicTensor;

  function block(x: SymbolicTensor, filters: number, strides: number): SymbolicTensor {
    const inner = relu(convolve(x, filters, 3, strides));
    const residual = convolve(inner, filters, 3, 1);
    const shortcut = strides > 1 ? convolve(x, filters, 1, strides) : x;
    return relu(tf.layers.add().apply([residual, shortcut]) as SymbolicTensor);
  }

  const inputShape = [image, image, 3];
  const inputs = tf.input({ shape: inputShape });
  let x = relu(convolve(inputs, widths[0]!, 3, 1));
  widths.forEach((filters, stage) => {
    for (let i = 0; i < blocksPerStage; i++) x = block(x, filters, stage > 0 && i === 0 ? 2 : 1);
  });
  const head = tf.layers.dense({ units: classes });
  const pooled = tf.layers.globalAveragePooling2d({}).apply(x);
  const model = tf.model({ inputs, outputs: head.apply(pooled) as SymbolicTensor });
  return classifier(tf, model, { inputShape, classes, variables: inOrder([...withWeights, head]) });
}

/**
 * The list of the model is sorted by depth in the graph, which puts a shortcut between the
 * convolutions that it spans.
 */
function inOrder(
  made: readonly { readonly trainableWeights: LayersModel['trainableWeights'] }[],
): Variable[] {
  return made.flatMap(({ trainableWeights }) => trainableWeights.map((weight) => weight.read() as Variable));
}
