import { counted } from '@acc/contract';
import { drawBars, drawPanels, type ChartLine } from '@acc/records';
import type { Study } from './study.js';

/** Draws the efficiency, measured and by the laws, as SVG. */
export function drawEfficiency({ kind, sizes, amdahl, gustafson, usl }: Study): string {
  const base = sizes[0]!;
  const ofLaw = (rates: readonly number[]) =>
    sizes.map(({ ranks }, i) => (100 * rates[i]! * base.ranks) / ranks / base.samplesPerSecond.median);
  const lines: ChartLine[] = [
    {
      ...{ name: 'measured', color: 'a', isDashed: false },
      ys: sizes.map(({ efficiency }) => 100 * efficiency),
    },
  ];
  if (amdahl) lines.push({ name: 'Amdahl', color: 'b', isDashed: true, ys: ofLaw(amdahl.rates) });
  if (gustafson) lines.push({ name: 'Gustafson', color: 'b', isDashed: true, ys: ofLaw(gustafson.rates) });
  if (usl) lines.push({ name: 'USL', color: 'c', isDashed: true, ys: ofLaw(usl.rates) });
  const panel = { title: kind, xs: sizes.map(({ ranks }) => ranks), lines };
  return drawPanels([[panel]], {
    yTitle: 'efficiency',
    xTitle: 'ranks',
    label: 'Efficiency over numbers of ranks; the table of rates has the numbers',
  });
}

/** Draws the parts of a step as SVG. Undefined if they are not known. */
export function drawSteps({ sizes }: Study): string | undefined {
  const bars = sizes.flatMap(({ ranks, shares, stepMs: { median } }) => {
    if (!shares) return [];
    const { compute, communication, imbalance, data, saves, loop } = shares;
    const parts = [compute, communication, imbalance, data, saves, loop].map((share) => share * median);
    return [{ name: counted(ranks, 'rank'), parts }];
  });
  if (bars.length < sizes.length) return undefined;
  return drawBars(bars, {
    title: 'a step',
    parts: ['computation', 'communication', 'slower ranks', 'batches', 'checkpoints', 'own code'],
    unit: 'ms',
    label: 'The parts of a step by number of ranks; the table has the numbers',
  });
}
