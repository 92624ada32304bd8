import type { StepPart } from '@acc/records';
import { PHASES } from '../curves/phases.js';
import type { RankTimes, RunDetails } from '../server/answers.js';
import { h } from './dom.js';
import { plain } from './format.js';

/** A row for each rank, a column for each phase, and a stronger colour where it takes more of the step. */
export function ranksTable({ ranks }: RunDetails): HTMLElement {
  const known = ranks.map(({ phases }) => phases).filter((phases) => phases !== undefined);
  const shown = PHASES.filter(({ id }) => known.some((phases) => phases[id] > 0));
  const longest = Math.max(...known.map(({ step }) => step));
  const head = [
    h('th', { scope: 'col' }, 'Rank'),
    h('th', { scope: 'col' }, 'Step'),
    ...shown.map(({ title, about }) => h('th', { scope: 'col', title: about }, title)),
  ];
  const ids = shown.map(({ id }) => id);
  const rows = ranks.map((rank) => h('tr', {}, rankCell(rank), ...cells(rank, ids, longest)));
  return h('table', { class: 'heat' }, h('thead', {}, h('tr', {}, ...head)), h('tbody', {}, ...rows));
}

function rankCell({ rank, host }: RankTimes): HTMLElement {
  return h('th', { scope: 'row' }, `${rank}`, h('span', { class: 'small' }, host));
}

function cells({ phases, longer }: RankTimes, ids: readonly StepPart[], longest: number): HTMLElement[] {
  if (!phases) return [h('td', { colspan: ids.length + 1 }, 'no steps yet')];
  const step = h('td', { class: 'step' }, `${plain(phases.step)} ms`);
  return [
    step,
    ...ids.map((id) => {
      const ms = phases[id];
      const cell = h('td', { class: 'cell' }, plain(ms), longer.includes(id) && longMark());
      cell.style.setProperty('--heat-share', String(ms / longest));
      return cell;
    }),
  ];
}

function longMark(): HTMLElement {
  return h(
    'span',
    { class: 'long', title: 'longer than on other ranks' },
    ' ▲',
    h('span', { class: 'hidden' }, ' longer than on other ranks'),
  );
}
