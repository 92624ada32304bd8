import { expect, it } from 'vitest';
import { drawWindow, parseTrace } from './timeline.js';

const BASE_MS = 1000;
const event = (name: string, ts: number, dur: number, lane = 'operators') => ({
  ...{ ph: 'X', name, ts, dur, args: { lane } },
});
const trace = (events: readonly object[]) =>
  parseTrace(
    1,
    JSON.stringify({ baseTimeNanoseconds: BASE_MS * 1e6, traceEvents: [{ ph: 'M' }, ...events] }),
  );

it('draws each span that is wider than a pixel, and narrow ones that are near each other as one', () => {
  const narrow = Array.from({ length: 10 }, (_, i) => event('aten::add', 5000 + 10 * i, 5));
  const { lanes } = trace([event('aten::matmul', 0, 4000), ...narrow, event('aten::relu', 20_000, 1000)]);
  const drawn = drawWindow([{ rank: 1, lanes }], { origin: BASE_MS, from: 0, to: 100, width: 100 }, 100);
  expect(drawn.ranks[0]!.lanes[0]!.spans).toEqual([
    [0, 4, 'matmul', 1],
    [5, expect.closeTo(0.095), '', 10],
    [20, 1, 'relu', 1],
  ]);
  const [first, second] = drawn.names;
  expect([first, second]).toMatchObject([
    { name: 'matmul', calls: 1, ms: [4] },
    { name: 'relu', calls: 1, ms: [1] },
  ]);
});

it('counts only what lies in the part that is shown, also of spans that reach out of it', () => {
  const traces = [
    trace([event('aten::matmul', 0, 4000), event('ncclKernel allReduce', 8000, 2000, 'collectives')]),
  ];
  const { ranks, names } = drawWindow(traces, { origin: BASE_MS, from: 3, to: 9, width: 100 }, 10);
  expect(ranks[0]!.lanes.map(({ spans }) => spans.length)).toEqual([1, 1]);
  expect(names.map(({ name, ms }) => [name, ms[0]!])).toEqual([
    ['matmul', expect.closeTo(1)],
    ['allReduce', expect.closeTo(1)],
  ]);
});
