import { arrow, box, drawing, frame, label, range } from './draw.mjs';

/** Eight ranks on two hosts: `mesh: { data: 2, fsdp: 4 }`. */
export function mesh() {
  const x = (column) => 92 + column * 96;
  const y = (row) => 52 + row * 110;
  const svg = drawing(480, 256, 'Eight ranks in a mesh of two rows and four columns', [
    range(2).map((row) => [
      frame({ x: 82, y: y(row) - 12, width: 388, height: 80, kind: 'a' }),
      label({ x: 0, y: y(row) + 20, text: `data = ${row}` }),
      label({ x: 0, y: y(row) + 38, text: `host ${row}`, kind: 'muted' }),
      range(4).map((column) =>
        box({
          x: x(column),
          y: y(row),
          width: 80,
          height: 56,
          kind: 'a',
          text: `rank ${row * 4 + column}\nshard ${column}`,
        }),
      ),
    ]),
    range(4).map((column) => [
      label({ x: x(column) + 40, y: 22, text: `fsdp = ${column}`, anchor: 'middle' }),
      arrow(
        [
          [x(column) + 40, y(0) + 58],
          [x(column) + 40, y(1) - 2],
        ],
        { heads: 'both' },
      ),
    ]),
    label({
      x: 82,
      y: 244,
      text: 'rows: parameters travel.  columns: sums of gradients travel.',
      kind: 'muted',
    }),
  ]);
  return {
    svg,
    caption:
      'mesh: { data: 2, fsdp: 4 }. The ranks of a row share one set of weights among them. Ranks of a column hold the same shard.',
  };
}
