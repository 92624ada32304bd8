import * as tf from '@tensorflow/tfjs-core';
import { Blueprint, type Draw, type Make, type Makers } from './draw.js';

/** A tensor, and padding of about as many dims as it has. */
function padded(d: Draw): readonly unknown[] {
  const rank = d.int(0, 4);
  return [d.any(rank), d.list(Math.max(0, rank + d.of(0, 0, 0, -1, 1)), () => d.nears(2, 0, 2))];
}

/** A convolution of images. */
const convolved =
  (...formats: readonly string[]): Make =>
  (d) => {
    const channels = d.int(1, 2);
    return [
      d.finite([d.int(1, 2), d.int(1, 5), d.int(1, 5), channels]),
      d.finite([d.int(1, 3), d.int(1, 3), channels, d.int(1, 2)]),
      d.steps(),
      d.pad(),
      formats.length > 1 ? d.of(...formats) : formats[0],
      d.steps(),
      d.rounding(),
    ];
  };

const pooled: Make = (d) => [d.tensor(d.shape(d.of(3, 4))), d.stride(), d.steps(), d.pad(), d.rounding()];

const pooledVolumes: Make = (d) => [
  d.finite(d.shape(5, 3)),
  d.of<unknown>(1, 2, 0, 1.5, [1, 2, 2], [1, 2]),
  d.of<unknown>(1, 2, 1.5, [1, 2, 2]),
  d.of<unknown>('same', 'valid', 1),
  d.rounding(),
];

/** Functions of images, with windows, sizes and padding. */
export const WINDOWS: Makers = {
  cropAndResize: [
    tf.image.cropAndResize,
    (d) => {
      const boxes = d.int(1, 3);
      return [
        d.numbers([d.int(1, 2), d.int(1, 4), d.int(1, 4), d.int(1, 2)], d.of('float32', 'int32')),
        new Blueprint(
          d.list(boxes * 4, () =>
            d.often(
              () => d.int(-4, 12) / 8,
              () => d.of(NaN, Infinity, -1e9),
            ),
          ),
          [boxes, 4],
          'float32',
        ),
        d.ints([boxes], 0, 1),
        d.nears(2, 1, 4),
        d.of('bilinear', 'nearest'),
        d.of(0, 1.5, NaN),
      ];
    },
  ],
  resizeBilinear: [
    tf.image.resizeBilinear,
    (d) => [d.numbers(d.shape(d.of(3, 4)), d.of('float32', 'int32')), d.nears(2, 1, 6), d.bool(), d.bool()],
  ],
  resizeNearestNeighbor: [
    tf.image.resizeNearestNeighbor,
    (d) => [d.tensor(d.shape(d.of(3, 4)), d.of('float32', 'int32')), d.nears(2, 1, 6), d.bool(), d.bool()],
  ],
  pad: [tf.pad, (d) => [...padded(d), d.of(0, 1, 1.5, NaN)]],
  mirrorPad: [tf.mirrorPad, (d) => [...padded(d), d.of('reflect', 'symmetric')]],
  conv1d: [
    tf.conv1d,
    (d) => {
      const channels = d.int(1, 2);
      return [
        d.finite([d.int(1, 2), d.int(1, 5), channels]),
        d.finite([d.int(1, 3), channels, d.int(1, 2)]),
        d.of(1, 2, 1.5),
        d.pad(),
        'NWC',
        d.of(1, 2, 1.5),
        d.rounding(),
      ];
    },
  ],
  conv2d: [tf.conv2d, convolved('NHWC', 'NHWC', 'NCHW')],
  depthwiseConv2d: [tf.depthwiseConv2d, convolved('NHWC')],
  conv2dTranspose: [
    tf.conv2dTranspose,
    (d) => {
      const channels = d.int(1, 2);
      const out = d.int(1, 2);
      const batch = d.int(1, 2);
      return [
        d.finite([batch, d.int(1, 3), d.int(1, 3), channels]),
        d.finite([d.int(1, 3), d.int(1, 3), out, channels]),
        [d.of(batch, batch, 3), d.near(1, 7), d.near(1, 7), d.of(out, out, out, 3)],
        d.steps(),
        d.pad(),
        d.rounding(),
      ];
    },
  ],
  conv3d: [
    tf.conv3d,
    (d) => {
      const channels = d.int(1, 2);
      return [
        d.finite([1, d.int(1, 4), d.int(1, 4), d.int(1, 4), channels]),
        d.finite([d.int(1, 2), d.int(1, 2), d.int(1, 2), channels, d.int(1, 2)]),
        d.of<unknown>(1, 2, [1, 2, 1], 1.5, [1, 2]),
        d.of('same', 'valid'),
        'NDHWC',
        d.of<unknown>(1, 1, 2, [1, 2, 1]),
      ];
    },
  ],
  conv3dTranspose: [
    tf.conv3dTranspose,
    (d) => {
      const channels = d.int(1, 2);
      const out = d.int(1, 2);
      return [
        d.finite([1, d.int(1, 3), d.int(1, 3), d.int(1, 3), channels]),
        d.finite([d.int(1, 2), d.int(1, 2), d.int(1, 2), out, channels]),
        [1, d.near(1, 5), d.near(1, 5), d.near(1, 5), d.of(out, out, 3)],
        d.of<unknown>(1, 2, [1, 2, 1]),
        d.of('same', 'valid'),
      ];
    },
  ],
  maxPool: [tf.maxPool, pooled],
  avgPool: [tf.avgPool, pooled],
  pool: [
    tf.pool,
    (d) => [
      d.finite(d.shape(d.of(3, 4))),
      d.stride(),
      d.of('max', 'avg'),
      d.pad(),
      d.int(1, 2),
      d.steps(),
      d.rounding(),
    ],
  ],
  maxPoolWithArgmax: [
    tf.maxPoolWithArgmax,
    (d) => [d.finite(d.shape(4)), d.stride(), d.steps(), d.pad(), d.bool()],
  ],
  maxPool3d: [tf.maxPool3d, pooledVolumes],
  avgPool3d: [tf.avgPool3d, pooledVolumes],
  dilation2d: [
    tf.dilation2d,
    (d) => {
      const channels = d.int(1, 2);
      return [
        d.finite([1, d.int(1, 5), d.int(1, 5), channels]),
        d.finite([d.int(1, 3), d.int(1, 3), channels]),
        d.steps(),
        d.of<unknown>('same', 'valid', 1),
        d.steps(),
      ];
    },
  ],
  batchNorm: [
    tf.batchNorm,
    (d) => {
      const shape = d.shape(d.int(2, 4), 3);
      const c = [d.of(shape.at(-1)!, shape.at(-1)!, 1, 2)];
      return [
        d.finite(shape),
        d.finite(c),
        d.finite(c),
        d.of(undefined, d.finite(c)),
        d.of(undefined, d.finite(c)),
        d.of(0.001, -1, NaN),
      ];
    },
  ],
  localResponseNormalization: [
    tf.localResponseNormalization,
    (d) => [
      d.finite(d.shape(d.of(3, 4))),
      d.near(0, 3),
      d.of(1, 0, -1),
      d.of(1, 0.5, 0),
      d.of(0.5, 1, 0, -1),
    ],
  ],
  spaceToBatchND: [
    tf.spaceToBatchND,
    (d) => [
      d.finite([d.int(1, 2), d.int(1, 4), d.int(1, 4), 1]),
      d.nears(2, 1, 2),
      d.list(d.of(2, 2, 2, 1), () => d.nears(2, 0, 2)),
    ],
  ],
  batchToSpaceND: [
    tf.batchToSpaceND,
    (d) => [
      d.finite([d.of(1, 2, 4, 8), d.int(1, 3), d.int(1, 3), 1]),
      d.nears(2, 1, 2),
      d.list(d.of(2, 2, 2, 1), () => d.nears(2, 0, 1)),
    ],
  ],
  depthToSpace: [
    tf.depthToSpace,
    (d) => [
      d.finite([1, d.int(0, 3), d.int(1, 3), d.of(1, 4, 8, 9)]),
      d.near(1, 3),
      d.of('NHWC', 'NHWC', 'NCHW'),
    ],
  ],
  transform: [
    tf.image.transform,
    (d) => [
      d.finite([1, ...d.shape(3)]),
      new Blueprint(
        d.list(8, () =>
          d.often(
            () => d.int(-2, 2) / 2,
            () => d.of(NaN, 4),
          ),
        ),
        [1, 8],
        'float32',
      ),
      d.of('nearest', 'bilinear'),
      d.of('constant', 'reflect', 'wrap', 'nearest'),
      d.of(0, 1.5),
      d.of<unknown>(undefined, d.nears(2, 1, 4)),
    ],
  ],
  rotateWithOffset: [
    tf.image.rotateWithOffset,
    (d) => [
      d.finite(d.shape(4, 3)),
      d.of(0, 1, -0.5, NaN),
      d.of<unknown>(0, [0, 1], 1.5),
      d.of<unknown>(0.5, 0, 2, [NaN, 0.5]),
    ],
  ],
  flipLeftRight: [tf.image.flipLeftRight, (d) => [d.finite(d.shape(d.of(3, 4)))]],
  nonMaxSuppression: [
    tf.image.nonMaxSuppression,
    (d) => {
      const n = d.int(0, 3);
      return [d.finite([n, 4]), d.finite([n]), d.near(0, 3), d.of(0.5, 0, -1, 2), d.of(-Infinity, 0)];
    },
  ],
  rfft: [tf.spectral.rfft, (d) => [d.finite(d.shape(d.int(1, 2))), d.of<unknown>(undefined, d.near(1, 4))]],
  spaceToBatch3: [
    tf.spaceToBatchND,
    (d) => [d.finite([1, 4, 2]), d.nears(1, 1, 2), d.list(1, () => d.nears(2, 0, 2))],
  ],
};
