import { arrow, box, drawing, label, range } from './draw.mjs';

/** Each rank computes the gradients of its rows; the sum is the gradient of the whole batch. */
export function rows() {
  const width = 190;
  const centers = [width / 2 + 1, 400 - width / 2 - 1];
  const down = (from, to) =>
    centers.map((x) =>
      arrow([
        [x, from],
        [x, to],
      ]),
    );
  const each = (y, height, kind, textOf) =>
    centers.map((x, rank) => box({ x: x - width / 2, y, width, height, kind, text: textOf(rank), size: 14 }));
  const across = (y, height, kind, text) => box({ x: 1, y, width: 398, height, kind, text, size: 14 });
  const svg = drawing(400, 317, 'Two ranks compute gradients of half a batch each and sum them', [
    across(1, 34, 'plain', 'one batch of 64 rows'),
    down(35, 56),
    each(58, 36, 'a', (rank) => `rank ${rank}: rows ${rank * 32} to ${rank * 32 + 31}`),
    down(94, 115),
    each(117, 50, 'plain', () => 'forward and backward,\nequal weights'),
    down(167, 188),
    across(190, 52, 'b', 'all-reduce: gradients are summed,\nweighted by the rows of each rank'),
    down(242, 263),
    each(265, 50, 'c', () => 'optimizer:\nequal new weights'),
  ]);
  return {
    svg,
    caption: 'Data parallelism: k ranks with a k-th of the batch take the step of one rank with all of it.',
  };
}

const LANE = { forward: [66, 132], backward: [132, 372] };
const BUCKETS = [
  { x: 192, width: 62, text: 'bucket 1' },
  { x: 260, width: 92, text: 'bucket 2' },
  { x: 374, width: 40, text: '3' },
];

/** The time of a step on two ranks: buckets travel during backward. */
export function buckets() {
  const part = (LANE.backward[1] - LANE.backward[0]) / 4;
  // Ranks are mirrored, so that what they exchange is side by side.
  const lanes = [
    { rank: 0, compute: 30, send: 70 },
    { rank: 1, compute: 182, send: 142 },
  ].map(({ rank, compute, send }) => [
    label({ x: 0, y: compute + 16, text: `rank ${rank}` }),
    box({ x: LANE.forward[0], y: compute, width: 66, height: 32, text: 'forward' }),
    range(4).map((i) =>
      box({
        x: LANE.backward[0] + i * part,
        y: compute,
        width: part,
        height: 32,
        kind: 'a',
        text: `layer ${4 - i}`,
      }),
    ),
    BUCKETS.map(({ x, width, text }) => box({ x, y: send, width, height: 30, kind: 'b', text })),
    box({ x: 418, y: compute, width: 60, height: 32, text: 'update' }),
  ]);
  const links = BUCKETS.map(({ x, width }) =>
    arrow(
      [
        [x + width / 2, 103],
        [x + width / 2, 139],
      ],
      { heads: 'both' },
    ),
  );
  const svg = drawing(480, 248, 'Timeline of a step on two ranks: buckets are reduced during backward', [
    label({ x: LANE.backward[0], y: 14, text: 'backward, last layer first', kind: 'muted' }),
    lanes,
    links,
    label({ x: 0, y: 122, text: 'all-reduce', kind: 'muted' }),
    arrow([
      [64, 238],
      [476, 238],
    ]),
    label({ x: 0, y: 238, text: 'time', kind: 'muted' }),
  ]);
  return {
    svg,
    caption:
      'A bucket is sent as soon as its gradients are complete, while backward continues. The first bucket is small, so that communication starts early.',
  };
}
