import * as tf from '@tensorflow/tfjs-core';
import { type Any, type Draw, type Make, type Makers } from './draw.js';

const REDUCTIONS = ['sum', 'mean', 'max', 'min', 'prod', 'any', 'all', 'logSumExp', 'moments'] as const;

/** A sequence, and values to find in it. */
const bounded: Make = (d) => {
  const n = d.shape(d.of(1, 2), 3);
  return [
    d.finite(n),
    d.finite(
      d.often(
        () => n,
        () => d.shape(d.of(1, 2), 3),
      ),
    ),
  ];
};

/** Functions that compute with each element, or along an axis. */
export const ELEMENTS: Makers = {
  ...Object.fromEntries(
    REDUCTIONS.map((name) => [
      name,
      [
        tf[name] as Any,
        (d: Draw) => {
          const rank = d.int(0, 4);
          const dtype = name === 'any' || name === 'all' ? 'bool' : d.dtype();
          return [d.tensor(d.shape(rank), dtype), d.axes(rank), d.bool()];
        },
      ],
    ]),
  ),
  argMax: [
    tf.argMax,
    (d) => {
      const rank = d.int(0, 4);
      return [d.any(rank), d.axis(rank)];
    },
  ],
  argMin: [
    tf.argMin,
    (d) => {
      const rank = d.int(0, 4);
      return [d.any(rank), d.axis(rank)];
    },
  ],
  cumsum: [
    tf.cumsum,
    (d) => {
      const rank = d.int(0, 4);
      return [d.any(rank), d.axis(rank), d.bool(), d.bool()];
    },
  ],
  cumprod: [
    tf.cumprod,
    (d) => {
      const rank = d.int(0, 4);
      return [d.any(rank), d.axis(rank), d.bool(), d.bool()];
    },
  ],
  softmax: [
    tf.softmax,
    (d) => {
      const rank = d.int(1, 4);
      return [d.tensor(d.shape(rank)), d.axis(rank)];
    },
  ],
  logSoftmax: [
    tf.logSoftmax,
    (d) => {
      const rank = d.int(0, 4);
      return [d.tensor(d.shape(rank)), d.axis(rank)];
    },
  ],
  norm: [
    tf.norm,
    (d) => {
      const rank = d.int(0, 3);
      return [d.finite(d.shape(rank)), d.of<unknown>(1, 2, 'euclidean', 'fro', Infinity, 3), d.axes(rank)];
    },
  ],
  oneHot: [
    tf.oneHot,
    (d) => [
      d.ints(d.shape(d.int(0, 3)), 0, 3),
      d.near(1, 4),
      d.of(1, 2.5),
      d.of(0, -1),
      d.of('float32', 'int32', 'bool'),
    ],
  ],
  bincount: [
    tf.bincount,
    (d) => {
      const n = d.int(0, 4);
      return [d.ints([n], 0, 4), d.of(d.finite([n]), d.finite([0]), d.finite([2])), d.near(0, 5)];
    },
  ],
  denseBincount: [
    tf.denseBincount,
    (d) => {
      const shape = d.shape(d.int(1, 2));
      return [
        d.ints(shape, 0, 4),
        d.of(d.finite(shape), d.finite([0])),
        d.near(0, 5),
        shape.length === 2 && d.bool(),
      ];
    },
  ],
  matMul: [
    tf.matMul,
    (d) => {
      const k = d.int(1, 3);
      const batch = d.shape(d.int(0, 2));
      return [
        d.finite([...batch, d.int(0, 3), k]),
        d.finite([...batch, k, d.int(0, 3)]),
        d.of(false, false, true),
        d.of(false, false, true),
      ];
    },
  ],
  dot: [tf.dot, (d) => [d.finite(d.shape(d.int(0, 3), 2)), d.finite(d.shape(d.int(0, 3), 2))]],
  einsum: [
    tf.einsum as Any,
    (d) => [
      d.of('ij,jk->ik', 'ij->j', 'i,j->ij', 'ii->i', 'ij,ij->', 'ij,jk'),
      d.finite(d.shape(d.int(1, 2), 2)),
      ...d.of([], [d.finite(d.shape(d.int(1, 2), 2))]),
    ],
  ],
  linspace: [tf.linspace, (d) => [d.near(0, 3), d.near(0, 3), d.near(1, 5)]],
  range: [
    tf.range,
    (d) => [
      d.near(0, 3),
      d.near(0, 5),
      d.of<unknown>(undefined, d.near(-2, 2)),
      d.of('float32', 'int32', 'bool'),
    ],
  ],
  fill: [
    tf.fill,
    (d) => [d.nears(d.int(0, 3), 0, 3), d.of(0, 1.5, NaN, -1), d.of<unknown>(undefined, 'int32', 'float32')],
  ],
  zeros: [tf.zeros as Any, (d) => [d.nears(d.int(0, 3), 0, 3), d.of('int32', 'bool', 'float32')]],
  ones: [tf.ones as Any, (d) => [d.nears(d.int(0, 3), 0, 3), d.of('int32', 'bool', 'float32')]],
  eye: [
    tf.eye,
    (d) => [d.near(0, 3), d.near(0, 3), d.of<unknown>(undefined, d.nears(1, 1, 2)), d.of('float32', 'int32')],
  ],
  diag: [tf.diag, (d) => [d.any()]],
  clipByValue: [
    tf.clipByValue,
    (d) => [d.any(), d.of(0, -1, NaN, 5, -Infinity), d.of(1, 3, NaN, Infinity, 0)],
  ],
  where: [
    tf.where,
    (d) => {
      const shape = d.shape(d.int(0, 3), 2);
      return [
        d.tensor(shape, 'bool'),
        d.often(
          () => d.tensor(shape, d.dtype()),
          () => d.any(),
        ),
        d.often(
          () => d.tensor(shape, d.dtype()),
          () => d.any(),
        ),
      ];
    },
  ],
  lowerBound: [tf.lowerBound, bounded],
  upperBound: [tf.upperBound, bounded],
  cast: [tf.cast, (d) => [d.any(), d.of('float32', 'int32', 'bool', 'complex64')]],
  addN: [
    tf.addN,
    (d) => {
      const shape = d.shape(d.int(0, 2));
      return [
        d.list(d.int(0, 3), () =>
          d.often(
            () => d.tensor(shape, d.of('float32', 'float32', 'int32')),
            () => d.any(),
          ),
        ),
      ];
    },
  ],
  prelu: [
    tf.prelu,
    (d) => {
      const shape = d.shape(d.int(0, 3));
      return [
        d.tensor(shape),
        d.often(
          () => d.finite(shape),
          () => d.finite([]),
        ),
      ];
    },
  ],
  leakyRelu: [tf.leakyRelu, (d) => [d.any(), d.of(0.2, 0, -1, NaN, Infinity)]],
  step: [tf.step, (d) => [d.any(), d.of(0, 0.5, NaN, Infinity)]],
  ...Object.fromEntries(
    (
      [
        'add',
        'sub',
        'mul',
        'div',
        'divNoNan',
        'floorDiv',
        'mod',
        'pow',
        'maximum',
        'minimum',
        'squaredDifference',
        'atan2',
        'equal',
        'notEqual',
        'less',
        'greaterEqual',
        'logicalAnd',
        'logicalXor',
        'bitwiseAnd',
      ] as const
    ).map((name) => [
      name,
      [
        tf[name] as Any,
        (d: Draw) => {
          const shape = d.shape(d.int(0, 3), 3);
          const dtype = name.startsWith('logical')
            ? 'bool'
            : name === 'bitwiseAnd'
              ? 'int32'
              : d.of<tf.DataType>('float32', 'int32');
          if (dtype === 'float32')
            return [
              d.finite(shape),
              d.finite(
                d.often(
                  () => shape,
                  () => d.shape(d.int(0, 3)),
                ),
              ),
            ];
          return [
            d.tensor(shape, dtype),
            d.often(
              () => d.tensor(d.bool() ? shape : shape.map((n) => d.of(n, 1)), dtype),
              () => d.numbers(d.shape(d.int(0, 3)), d.of('float32', 'int32')),
            ),
          ];
        },
      ],
    ]),
  ),
  ...Object.fromEntries(
    (
      [
        'abs',
        'ceil',
        'floor',
        'round',
        'sign',
        'sqrt',
        'rsqrt',
        'square',
        'reciprocal',
        'neg',
        'exp',
        'log',
        'relu',
        'relu6',
        'elu',
        'selu',
        'sigmoid',
        'softplus',
        'tanh',
        'isNaN',
        'isFinite',
        'logicalNot',
        'erf',
        'sin',
        'acos',
      ] as const
    ).map((name) => [
      name,
      [
        tf[name] as Any,
        (d: Draw) => [d.tensor(d.shape(d.int(0, 3), 3), name === 'logicalNot' ? 'bool' : d.dtype())],
      ],
    ]),
  ),
  confusionMatrix: [
    tf.math.confusionMatrix,
    (d) => [d.ints([3], 0, 2), d.ints([d.of(3, 3, 2)], 0, 2), d.near(3, 4)],
  ],
  bandPart: [tf.linalg.bandPart, (d) => [d.finite(d.shape(d.of(2, 3))), d.near(-1, 2), d.near(-1, 2)]],
};
