import { read } from '../scripts/repository.mjs';
import { box, drawing, label } from './draw.mjs';

const REPORT = 'bench/results/scaling-host.md';
const WIDTH = 300;
const LEFT = 92;
const GROUP = 92;

/**
 * The rates of two ranks with a whole batch each, by model.
 *
 * @returns `{ model, ours, theirs }`, with samples/s as they are in the report.
 * @throws Error if the report has another form.
 */
export function rates(report = read(REPORT)) {
  const sections = report.split(/^## /m).filter((section) => section.includes('### Weak'));
  const found = sections.map((section) => {
    const [title] = section.split('\n');
    const row = /^\| 2 +\| host itself .*$/m.exec(section)?.[0];
    const [, , , ours, theirs] = (row ?? '').split('|').map((cell) => cell.trim());
    return { model: /^.*?(?=,? batch)/.exec(title)?.[0] ?? title, ours, theirs };
  });
  if (found.length === 0 || found.some(({ theirs }) => !/^[\d,]+$/.test(theirs ?? ''))) {
    throw new Error(`${REPORT} has no rates of two ranks on the host itself.`);
  }
  return found;
}

const valueOf = (rate) => Number(rate.replaceAll(',', ''));

/** Samples per second on two ranks, beside PyTorch's. Each model has its own scale. */
export function bars() {
  const models = rates();
  const svg = drawing(480, models.length * GROUP - 6, 'Samples per second on two ranks, beside PyTorch', [
    models.map(({ model, ours, theirs }, i) => {
      const top = i * GROUP;
      const most = Math.max(valueOf(ours), valueOf(theirs));
      const bar = (rate, y, kind, name) => [
        label({ x: 0, y: y + 12, text: name, kind: 'muted' }),
        box({ x: LEFT, y, width: (valueOf(rate) / most) * WIDTH, height: 24, kind }),
        label({ x: LEFT + (valueOf(rate) / most) * WIDTH + 8, y: y + 12, text: `${rate}/s`, kind: 'strong' }),
      ];
      const name = model.replace(/, 4 heads.*$/, '');
      return [
        label({ x: 0, y: top + 9, text: name, kind: 'strong' }),
        bar(ours, top + 24, 'b', 'Accelerate'),
        bar(theirs, top + 52, 'plain', 'PyTorch'),
      ];
    }),
  ]);
  return { svg, caption: `Samples per second on two ranks. Longer is faster. Measured on ${machine()}.` };
}

/** 'AMD EPYC, 2 cores, 2026-11-22', from the head of the report. */
function machine() {
  const [, cpu, cores, date] = /^([\w ]+), (\d+ cores),.*; (\d{4}-\d\d-\d\d)/m.exec(read(REPORT));
  return `${cpu}, ${cores}, on ${date}`;
}
