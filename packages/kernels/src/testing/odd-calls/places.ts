import * as tf from '@tensorflow/tfjs-core';
import { type Any, type Makers } from './draw.js';

/** Functions that move elements to other places. */
export const PLACES: Makers = {
  slice: [
    tf.slice,
    (d) => {
      const rank = d.int(0, 4);
      return [
        d.any(rank),
        d.of<unknown>(d.nears(rank, 0, 2), d.near(0, 2)),
        d.of<unknown>(undefined, d.nears(rank, -1, 2), d.nears(rank, 1, 2), d.near(0, 2)),
      ];
    },
  ],
  stridedSlice: [
    tf.stridedSlice,
    (d) => {
      const rank = d.int(1, 4);
      return [
        d.any(rank),
        d.nears(rank, -2, 2),
        d.nears(rank, -1, 4),
        d.of<unknown>(undefined, d.nears(rank, -2, 2)),
        d.int(0, 3),
        d.int(0, 3),
        d.of(0, 0, 1),
        d.of(0, 0, 1),
        d.int(0, 3),
      ];
    },
  ],
  concat: [
    tf.concat,
    (d) => {
      const rank = d.int(0, 4);
      const shape = d.shape(rank);
      const axis = d.near(-rank, rank - 1);
      return [
        d.list(d.int(0, 3), () =>
          d.often(
            () => d.numbers(shape, d.of('float32', 'float32', 'int32')),
            () => d.finite(d.shape(rank)),
          ),
        ),
        axis,
      ];
    },
  ],
  stack: [
    tf.stack,
    (d) => {
      const shape = d.shape(d.int(0, 3));
      return [
        d.list(d.int(0, 3), () =>
          d.often(
            () => d.tensor(shape),
            () => d.any(),
          ),
        ),
        d.axis(shape.length + 1),
      ];
    },
  ],
  unstack: [
    tf.unstack,
    (d) => {
      const rank = d.int(0, 4);
      return [d.any(rank), d.axis(rank)];
    },
  ],
  split: [
    tf.split,
    (d) => {
      const rank = d.int(0, 4);
      return [d.any(rank), d.of<unknown>(d.near(1, 4), d.nears(d.int(0, 3), -1, 3)), d.axis(rank)];
    },
  ],
  gather: [
    tf.gather,
    (d) => {
      const rank = d.int(0, 4);
      return [d.any(rank), d.ints(d.shape(d.int(0, 2)), 0, 1), d.axis(rank), d.of(0, 0, 0, 1, -1, 2)];
    },
  ],
  gatherND: [tf.gatherND, (d) => [d.any(), d.ints([...d.shape(d.int(0, 2)), d.int(0, 3)], 0, 1)]],
  scatterND: [
    tf.scatterND,
    (d) => {
      const depth = d.int(1, 2);
      const shape = d.shape(d.int(1, 3));
      const n = d.int(1, 3);
      return [
        d.ints([n, depth], 0, 1),
        d.tensor([n, ...shape.slice(depth)], d.of('float32', 'int32')),
        d.often(
          () => shape,
          () => d.nears(2, 1, 3),
        ),
      ];
    },
  ],
  tensorScatterUpdate: [
    tf.tensorScatterUpdate,
    (d) => {
      const depth = d.int(1, 2);
      const shape = d.shape(d.int(1, 3));
      const n = d.int(1, 3);
      return [d.tensor(shape), d.ints([n, depth], 0, 1), d.tensor([n, ...shape.slice(depth)])];
    },
  ],
  sparseToDense: [
    tf.sparseToDense,
    (d) => {
      const n = d.int(0, 3);
      const rank = d.int(1, 2);
      return [
        d.ints(d.of([n, rank], [n]), 0, 1),
        d.of(d.tensor([n]), d.tensor([])),
        d.often(
          () => d.shape(rank),
          () => d.nears(2, 1, 3),
        ),
        d.of(0, 1.5),
      ];
    },
  ],
  tile: [
    tf.tile,
    (d) => {
      const rank = d.int(0, 4);
      return [d.any(rank), d.nears(rank, 1, 2)];
    },
  ],
  reverse: [
    tf.reverse,
    (d) => {
      const rank = d.int(0, 4);
      return [d.any(rank), d.axes(rank)];
    },
  ],
  transpose: [
    tf.transpose,
    (d) => {
      const rank = d.int(0, 4);
      return [
        d.any(rank),
        d.of<unknown>(undefined, d.nears(rank, 0, rank - 1), [...Array(rank).keys()].reverse()),
      ];
    },
  ],
  expandDims: [
    tf.expandDims,
    (d) => {
      const rank = d.int(0, 4);
      return [d.any(rank), d.axis(rank + 1)];
    },
  ],
  squeeze: [
    tf.squeeze,
    (d) => {
      const rank = d.int(0, 4);
      return [d.tensor(d.shape(rank, 2)), d.of<unknown>(undefined, d.nears(d.int(0, 2), -rank, rank - 1))];
    },
  ],
  reshape: [
    tf.reshape,
    (d) => {
      const shape = d.shape(d.int(0, 4));
      const size = shape.reduce((a, b) => a * b, 1);
      return [
        d.tensor(shape),
        d.of<number[]>([size], [-1], [size, 1], d.nears(2, -1, 4), [-1, -1], [1, -1, 2]),
      ];
    },
  ],
  broadcastTo: [
    tf.broadcastTo,
    (d) => {
      const shape = d.shape(d.int(0, 3), 2);
      return [
        d.tensor(shape, d.dtype()),
        d.often(
          () => shape.map((n) => (n === 1 ? 3 : n)),
          () => d.nears(d.int(0, 4), -1, 3),
        ),
      ];
    },
  ],
  topk: [tf.topk, (d) => [d.finite(d.shape(d.int(0, 3))), d.near(0, 4), true]],
  unsortedSegmentSum: [
    tf.unsortedSegmentSum,
    (d) => {
      const shape = d.shape(d.int(1, 3));
      return [d.finite(shape), d.ints(d.of(shape.slice(0, 1), d.shape(1)), 0, 2), d.near(1, 3)];
    },
  ],
  unique: [
    tf.unique,
    (d) => {
      const rank = d.int(0, 3);
      return [d.any(rank), d.axis(rank)];
    },
  ],
  meshgrid: [tf.meshgrid as Any, (d) => [d.any(), d.any(1), { indexing: d.of('xy', 'ij', 'no') }]],
};
