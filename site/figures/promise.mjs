import { arrow, box, drawing, label, range } from './draw.mjs';

const RANKS = 4;
const LANE = 56;
const TOP = 26;

/** One program on four processes: each trains on its part of a batch, and the sum is one step. */
export function promise() {
  const middle = TOP + (RANKS * LANE) / 2 - 5;
  const laneAt = (rank) => TOP + rank * LANE + 23;
  const lanes = range(RANKS).map((rank) => [
    arrow([
      [132, middle],
      [156, laneAt(rank)],
      [174, laneAt(rank)],
    ]),
    box({ x: 176, y: laneAt(rank) - 23, width: 140, height: 46, kind: 'a', text: laneText(rank) }),
    arrow([
      [316, laneAt(rank)],
      [334, laneAt(rank)],
      [355, middle],
    ]),
  ]);
  const svg = drawing(480, 300, 'One program trains on four processes as if it were one', [
    label({ x: 66, y: 10, text: 'your program', anchor: 'middle', kind: 'muted' }),
    label({ x: 246, y: 10, text: 'four processes', anchor: 'middle', kind: 'muted' }),
    label({ x: 418, y: 10, text: 'one model', anchor: 'middle', kind: 'muted' }),
    box({ x: 1, y: middle - 60, width: 130, height: 120, text: 'train.ts\n+ 3 lines' }),
    lanes,
    box({
      x: 357,
      y: middle - 42,
      width: 122,
      height: 84,
      kind: 'c',
      size: 12,
      text: 'sum of gradients\n= one step of\nthe whole batch',
    }),
    label({ x: 240, y: 284, text: 'acc launch -n 4 train.ts', anchor: 'middle', kind: 'code' }),
  ]);
  return {
    svg,
    caption: 'Every process trains on its part of the batch. All of them keep the same weights.',
  };
}

const laneText = (rank) => `rank ${rank}\n¼ of the batch`;
