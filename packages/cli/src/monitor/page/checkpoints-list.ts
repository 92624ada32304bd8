import type { Checkpoints, SavedCheckpoint } from '../server/answers.js';
import { h } from './dom.js';
import { ago, plain } from './format.js';

/** The checkpoints of a run, and the command that goes on from one. */
export function checkpointsList({ place, isListed, saved, command }: Checkpoints): HTMLElement[] {
  const heading = h('h2', {}, 'Checkpoints');
  if (!isListed)
    return [heading, h('p', {}, 'They are in ', h('code', {}, place), ', which this page does not list.')];
  if (saved.length === 0)
    return [heading, h('p', {}, 'There is no complete one in ', h('code', {}, place), '.')];
  const head = ['Step', 'Saved', 'Metrics', 'Folder'].map((text) => h('th', { scope: 'col' }, text));
  const table = h(
    'table',
    { class: 'plain' },
    h('thead', {}, h('tr', {}, ...head)),
    h('tbody', {}, ...saved.map(rowOf)),
  );
  const list = h(
    'div',
    { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'List of checkpoints' },
    table,
  );
  return [heading, list, ...resumeWith(command, saved[0]!)];
}

function rowOf({ step, savedAt, metrics, folder }: SavedCheckpoint): HTMLElement {
  const figures = Object.entries(metrics).map(
    ([name, value]) => `${name} ${value === null ? 'not finite' : plain(value)}`,
  );
  const when = Date.parse(savedAt);
  return h(
    'tr',
    {},
    h('th', { scope: 'row' }, step.toLocaleString('en')),
    h('td', { title: savedAt }, Number.isFinite(when) ? ago(Date.now() - when) : ''),
    h('td', {}, figures.join(', ')),
    h('td', {}, h('code', {}, folder)),
  );
}

function resumeWith(command: string | undefined, { step, folder }: SavedCheckpoint): HTMLElement[] {
  if (command === undefined) return [];
  return [
    h('p', {}, `To go on from step ${step.toLocaleString('en')}, run the same command again:`),
    h('pre', { tabindex: 0 }, command),
    h(
      'p',
      { class: 'small' },
      'The program goes on there if it calls ',
      h('code', {}, "loadState('latest', { ifPresent: true })"),
      '. For another checkpoint, give its folder: ',
      h('code', {}, `loadState('${folder}')`),
      '.',
    ),
  ];
}
