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
  const svg = drawing(400, 342, 'Two ranks compute gradients of half a batch each and sum them', [
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

const LANE = { forward: [64, 130], backward: [130, 370] };

/** The time of a step on one of two ranks: buckets travel while backward goes on. */
export function buckets() {
  const lanes = range(2).map((r) => {
    const y = 34 + r * 122;
    const part = (LANE.backward[1] - LANE.backward[0]) / 4;
    return [
      label({ x: 0, y: y + 16, text: `rank ${r}` }),
      box({ x: LANE.forward[0], y, width: 66, height: 32, text: 'forward' }),
      range(4).map((i) =>
        box({
          x: LANE.backward[0] + i * part,
          y,
          width: part,
          height: 32,
          kind: 'a',
          text: `layer ${4 - i}`,
        }),
      ),
      range(3).map((i) => {
        const [x, width] = [
          [195, 62],
          [262, 92],
          [372, 40],
        ][i];
        return box({ x, y: y + 40, width, height: 30, kind: 'b', text: i === 2 ? '3' : `bucket ${i + 1}` });
      }),
      box({ x: 414, y, width: 62, height: 32, text: 'update' }),
    ];
  });
  const links = [226, 308, 392].map((x) =>
    arrow(
      [
        [x, 106],
        [x, 194],
      ],
      { heads: 'both', isDashed: true },
    ),
  );
  const svg = drawing(480, 250, 'Timeline of a step on two ranks: buckets are reduced during backward', [
    label({ x: LANE.backward[0], y: 14, text: 'backward, last layer first', kind: 'muted' }),
    lanes,
    links,
    arrow([
      [64, 242],
      [476, 242],
    ]),
    label({ x: 0, y: 242, text: 'time', kind: 'muted' }),
  ]);
  return {
    svg,
    caption:
      'A bucket is sent as soon as its gradients are complete, while backward continues. The first bucket is small, so that communication starts early.',
  };
}
