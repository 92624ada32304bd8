import { expect, it } from 'vitest';
import { drawBars } from './bars.js';
import { drawPanels } from './panels.js';

it('lines leave out what is not known, and dashed ones have no dots', () => {
  const svg = drawPanels(
    [
      [
        {
          title: 'a < b',
          xs: [1, 2, 4],
          lines: [
            { name: 'measured', color: 'a', isDashed: false, ys: [100, undefined, 50] },
            { name: 'law', color: 'b', isDashed: true, ys: [100, 80, 60] },
          ],
        },
      ],
    ],
    { yTitle: 'efficiency', xTitle: 'ranks', label: 'x' },
  );
  expect(svg.match(/<circle/g)).toHaveLength(2);
  expect(svg).toContain('points="0,0 220,65"');
  expect(svg).toContain('points="0,0 110,26 220,52"');
  expect(svg).toContain('>50 %</text>');
  expect(svg).toContain('a &#60; b');
});

it('bars are divided in proportion, on one scale, with their sums', () => {
  const svg = drawBars(
    [
      { name: 'x', parts: [1, 3] },
      { name: 'y', parts: [2, 0] },
    ],
    { title: 't', parts: ['p', 'q'], unit: 'ms', label: 'x' },
  );
  const widths = [...svg.matchAll(/y="\d+" width="([\d.]+)" height="18"/g)].map(([, width]) => Number(width));
  expect(widths).toEqual([105, 315, 210, 0]);
  expect(svg).toContain('>4.00 ms</text>');
});
