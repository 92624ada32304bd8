// Calls of every kernel with a rule: functions of tensors with rows and of whole tensors.
import * as tf from '@tensorflow/tfjs';
import { gelu, layerNorm, rmsNorm, rotaryEmbedding, scaledDotProductAttention } from '@acc/kernels';

export const ROWS = 8;

/** Tensors whose dim 0 holds the rows. */
export interface Rows {
  readonly a: tf.Tensor2D;
  readonly b: tf.Tensor2D;
  readonly tokens: tf.Tensor1D;
  readonly images: tf.Tensor4D;
  readonly volumes: tf.Tensor5D;
  readonly heads: tf.Tensor4D;
  readonly labels: tf.Tensor2D;
}

/** Whole tensors. */
export interface Whole {
  readonly weight: tf.Tensor2D;
  readonly vector: tf.Tensor1D;
  readonly filter: tf.Tensor4D;
  readonly depthwise: tf.Tensor4D;
  readonly filter3d: tf.Tensor5D;
  readonly table: tf.Tensor2D;
  readonly morph: tf.Tensor3D;
}

const wave = <T extends tf.Tensor>(shape: number[], step = 1): T =>
  tf.tidy(() => {
    const steps = tf.range(
      0,
      shape.reduce((a, b) => a * b),
    );
    return tf.sin(steps.mul(step)).reshape(shape) as T;
  });

export const rowsInputs = (): Rows => ({
  a: wave([ROWS, 6]),
  b: wave([ROWS, 6], 0.7),
  tokens: tf.tensor1d([3, 1, 4, 1, 0, 2, 2, 3], 'int32'),
  images: wave([ROWS, 6, 6, 2]),
  volumes: wave([ROWS, 4, 4, 4, 2]),
  heads: wave([ROWS, 2, 3, 8]),
  labels: tf.tidy(() => tf.softmax(wave<tf.Tensor2D>([ROWS, 6], 1.3))),
});

export const wholeInputs = (): Whole => ({
  weight: wave([6, 5], 0.3),
  vector: wave([6], 0.9),
  filter: wave([3, 3, 2, 4], 0.2),
  depthwise: wave([3, 3, 2, 2], 0.2),
  filter3d: wave([2, 2, 2, 2, 3], 0.2),
  table: wave([5, 4], 0.4),
  morph: wave([2, 2, 2], 0.4),
});

type Case = (rows: Rows, full: Whole) => tf.Tensor | tf.Tensor[];

const unary = [
  'abs',
  'asinh',
  'atan',
  'ceil',
  'cos',
  'cosh',
  'elu',
  'erf',
  'exp',
  'expm1',
  'floor',
  'isFinite',
] as const;
const moreUnary = [
  'isInf',
  'isNaN',
  'leakyRelu',
  'log1p',
  'neg',
  'onesLike',
  'reciprocal',
  'relu',
  'relu6',
] as const;
const lastUnary = [
  'round',
  'selu',
  'sigmoid',
  'sign',
  'sin',
  'sinh',
  'softplus',
  'square',
  'step',
  'tan',
  'tanh',
] as const;
const binary = [
  'add',
  'atan2',
  'equal',
  'floorDiv',
  'greater',
  'greaterEqual',
  'less',
  'lessEqual',
  'maximum',
] as const;
const moreBinary = ['minimum', 'mod', 'mul', 'notEqual', 'div', 'squaredDifference', 'sub'] as const;

export const CASES: Readonly<Record<string, Case>> = {
  unary: ({ a }) => [...unary, ...moreUnary, ...lastUnary].map((name) => tf[name](a)),
  unitInterval: ({ a }) => {
    const inside = a.mul(0.9);
    return [
      inside.acos(),
      inside.asin(),
      inside.atanh(),
      a.abs().add(1).acosh(),
      a.abs().log(),
      a.abs().sqrt(),
      a.abs().rsqrt(),
    ];
  },
  moreUnary: ({ a, tokens }) => [
    tf.clipByValue(a, -0.5, 0.5),
    tf.zerosLike(a),
    a.toInt(),
    tokens.toFloat(),
    tf.softmax(a),
    tf.logSoftmax(a),
  ],
  binary: ({ a, b }) => [...binary, ...moreBinary].map((name) => tf[name](a, b)),
  broadcasts: ({ a }, { vector }) => [
    a.add(vector),
    vector.mul(a),
    a.sub(a.sum(1, true)),
    a.add(tf.ones([ROWS_OF(a), 1])),
    a.add(tf.ones(a.shape)),
  ],
  logical: ({ a, b }) => [
    tf.logicalAnd(a.greater(0), b.greater(0)),
    tf.logicalOr(a.greater(0), b.greater(0)),
    tf.logicalXor(a.greater(0), b.greater(0)),
    tf.logicalNot(a.greater(0)),
    tf.bitwiseAnd(a.mul(9).toInt(), b.mul(9).toInt()),
    tf.where(a.greater(0), a, b),
  ],
  powers: ({ a, b }, { vector }) => [
    tf.pow(a.abs(), b),
    tf.prelu(a, vector as tf.Tensor),
    tf.addN([a, b, a]),
  ],
  complex: ({ a, b }) => {
    const z = tf.complex(a, b);
    return [tf.real(z), tf.imag(z), tf.abs(z), tf.real(tf.fft(z)), tf.imag(tf.ifft(z))];
  },
  reductions: ({ a, images }) => [
    a.sum(1),
    a.mean(-1, true),
    images.sum([1, 2]),
    images.mean([0, 1, 2]),
    a.sum(),
    a.mean(0),
    a.max(1),
    a.min(1, true),
    a.prod(1),
    a.greater(0).all(1),
    a.greater(0).any(1),
    a.argMax(1),
    a.argMin(-1),
    a.cumsum(1),
    tf.cumprod(a, 1),
    tf.topk(a, 2).values,
  ],
  movements: ({ a, b, images }) => [
    images.transpose([0, 3, 1, 2]),
    images.transpose([1, 0, 2, 3]).transpose([2, 1, 0, 3]),
    images.slice([0, 1, 2, 0], [-1, 3, 2, 2]),
    tf.concat([a, b], 1),
    tf.stack([a, b], 1),
    tf.stack([a, b]),
    ...tf.unstack(a, 1),
    ...tf.split(a, 3, 1),
    images.pad([
      [0, 0],
      [1, 1],
      [0, 0],
      [0, 0],
    ]),
    tf.mirrorPad(
      images,
      [
        [0, 0],
        [1, 1],
        [1, 0],
        [0, 0],
      ],
      'reflect',
    ),
    tf.tile(a, [1, 2]),
    tf.reverse(images, [1]),
    a.reshape([-1, 2, 3]).expandDims(1),
    images.reshape([ROWS_OF(images) * 36, 2]),
    tf.unstack(images.transpose([1, 0, 2, 3]))[2]!,
  ],
  lookups: ({ a, tokens, images }, { table, vector }) => [
    tf.oneHot(tokens, 5),
    table.gather(tokens),
    table.gather(tf.stack([tokens, tokens], 1)),
    tf.gather(images, tf.tensor1d([1, 0], 'int32'), 3),
    tf.gather(a, tf.stack([tokens, tokens], 1), 1, 1),
    tf.gatherND(table, tf.stack([tokens, tf.zerosLike(tokens)], 1)),
    tf.scatterND(tokens.expandDims<tf.Tensor2D>(1), a, [5, 6]),
    tf.unsortedSegmentSum(a, tokens, 5),
    tf.multinomial(a.add<tf.Tensor2D>(vector), 3, 7),
  ],
  products: ({ a, b, heads }, { weight }) => [
    a.matMul(weight),
    a.matMul(weight.transpose(), false, true),
    a.matMul(b, true),
    tf.matMul(weight, a, true, true),
    tf.matMul(heads, heads, false, true),
    tf.matMul(heads, tf.ones(heads.shape), false, true),
    tf.einsum('bi,ij->bj', a, weight),
    tf.einsum('bi,bj->ij', a, b),
    tf.fused.matMul({ a, b: weight, bias: weight.slice(0, 1).reshape([5]), activation: 'relu' }),
  ],
  images: ({ images }, { filter, depthwise, morph }) => [
    tf.conv2d(images, filter, 1, 'same'),
    tf.fused.conv2d({
      x: images,
      filter,
      strides: 1,
      pad: 'valid',
      bias: filter.slice(0, 1).slice([0, 0], [1, 1]).reshape([-1]).slice(0, 4),
      activation: 'relu',
    }),
    tf.depthwiseConv2d(images, depthwise, 1, 'same'),
    tf.fused.depthwiseConv2d({ x: images, filter: depthwise, strides: 1, pad: 'same' }),
    tf.conv2dTranspose(
      images,
      filter.transpose<tf.Tensor4D>([0, 1, 3, 2]),
      [ROWS_OF(images), 6, 6, 4],
      1,
      'same',
    ),
    tf.maxPool(images, 2, 2, 'valid'),
    tf.avgPool(images, 2, 2, 'valid'),
    tf.localResponseNormalization(images),
    tf.dilation2d(images, morph, 1, 'same'),
    tf.depthToSpace(tf.concat([images, images], 3), 2, 'NHWC'),
    tf.image.resizeBilinear(images, [4, 9]),
    tf.image.resizeNearestNeighbor(images, [9, 4]),
    tf.image.flipLeftRight(images),
    tf.image.rotateWithOffset(images, 0.5),
    tf.batchNorm(images, [0.1, 0.2], [1, 2], [0, 1], [2, 1]),
  ],
  volumes: ({ volumes }, { filter3d }) => [
    tf.conv3d(volumes, filter3d, 1, 'same'),
    tf.maxPool3d(volumes, 2, 2, 'valid'),
    tf.avgPool3d(volumes, 2, 2, 'valid'),
  ],
  functions: ({ a, heads }, { vector }) => [
    gelu(a),
    layerNorm(a, vector, vector),
    rmsNorm(a, vector),
    rotaryEmbedding(heads),
    scaledDotProductAttention(heads, heads, heads, { isCausal: true }),
    scaledDotProductAttention(heads, heads, heads, { mask: tf.ones([ROWS_OF(heads), 1, 1, 3]) }),
  ],
  losses: ({ a, labels }) => [
    tf.losses.softmaxCrossEntropy(labels, a),
    tf.losses.softmaxCrossEntropy(labels, a, undefined, 0, tf.Reduction.NONE),
    tf.losses.sigmoidCrossEntropy(labels, a),
    tf.losses.sigmoidCrossEntropy(labels, a, undefined, 0, tf.Reduction.NONE),
    tf.losses.meanSquaredError(labels, a),
    tf.losses.huberLoss(labels, a),
    tf.losses.absoluteDifference(labels, a),
    tf.losses.cosineDistance(labels, a, 1),
  ],
};

/** The number of rows of a tensor. It is smaller in a shard than in the whole tensor. */
function ROWS_OF({ shape }: tf.Tensor): number {
  return shape[0]!;
}

type Loss = (rows: Rows, weights: Whole) => tf.Tensor;

/**
 * Functions that are differentiated with respect to all whole tensors and `a`, `images`, `heads`
 * and `volumes`.
 */
export const LOSSES: Readonly<Record<string, Loss>> = {
  dense: ({ a }, { weight, vector }) => a.mul(vector).matMul(weight).relu().square().sum(),
  activations: ({ a }, { vector }) => {
    const x = a.mul(vector);
    const shards = [
      x.relu6(),
      x.clipByValue(-0.1, 0.1),
      tf.leakyRelu(x),
      x.softplus(),
      x.sigmoid(),
      x.tanh(),
      x.pow(3),
      x.elu(),
      x.softmax(),
      gelu(x),
    ];
    return tf.addN(shards).mul(a).sum();
  },
  weightsOnly: ({ a }, { weight }) => {
    const mixed = weight
      .softmax()
      .add(weight.tanh())
      .sub(weight.relu())
      .concat(weight.sigmoid(), 1)
      .slice([0, 2], [6, 5]);
    return a.matMul(mixed.transpose().reverse(0).transpose()).square().sum();
  },
  embedding: ({ tokens }, { table }) => table.gather(tokens).square().sum(),
  convolution: ({ images }, { filter, depthwise }) =>
    tf
      .maxPool(tf.conv2d(images, filter, 1, 'same'), 2, 2, 'valid')
      .sum()
      .add(
        tf
          .avgPool(tf.depthwiseConv2d(images, depthwise, 1, 'same'), 2, 2, 'same')
          .square()
          .sum(),
      ),
  resizing: ({ images }, { filter }) => {
    const x = tf.conv2d(images, filter, 1, 'same');
    return tf.image
      .resizeBilinear(x, [4, 9])
      .sum()
      .add(tf.image.resizeNearestNeighbor(x, [9, 4]).square().sum())
      .add(tf.localResponseNormalization(x).sum());
  },
  dilation: ({ images }, { morph }) => tf.dilation2d(images, morph, 1, 'same').square().sum(),
  volumes: ({ volumes }, { filter3d }) => {
    const x = tf.conv3d(volumes, filter3d, 1, 'same');
    return tf
      .maxPool3d(x, 2, 2, 'valid')
      .sum()
      .add(tf.avgPool3d(x, 2, 2, 'valid').square().sum());
  },
  norms: ({ a }, { vector }) =>
    layerNorm(a, vector, vector).square().sum().add(rmsNorm(a, vector).mul(a).sum()),
  attention: ({ heads }, { vector }) => {
    const scaled = heads.mul(vector.sum());
    const turned = rotaryEmbedding(scaled as tf.Tensor4D);
    return scaledDotProductAttention(turned, turned, scaled as tf.Tensor4D)
      .square()
      .sum();
  },
  crossEntropies: ({ a, labels }, { vector }) => {
    const logits = a.mul(vector);
    const NONE = tf.Reduction.NONE;
    return tf.losses
      .softmaxCrossEntropy(labels, logits, undefined, 0, NONE)
      .sum()
      .add(tf.losses.sigmoidCrossEntropy(labels, logits, undefined, 0, NONE).sum());
  },
};
