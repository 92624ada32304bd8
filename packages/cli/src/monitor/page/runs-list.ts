import type { RunDetails, RunSummary } from '../server/answers.js';
import { h } from './dom.js';
import { ago } from './format.js';

/** Names by the id of a run: without the project, if all runs belong to the same one. */
export function shortNames(runs: readonly RunSummary[]): ReadonlyMap<string, string> {
  const projects = new Set(runs.map(({ name }) => name.split('/')[0]));
  const short = (name: string) => (projects.size === 1 ? name.slice(name.indexOf('/') + 1) : name);
  return new Map(runs.map(({ id, name }) => [id, short(name)]));
}

/** The runs to choose from. The first chosen one is shown, and others are compared with it. */
export function runsList(
  runs: readonly RunSummary[],
  chosen: readonly string[],
  choose: (chosen: readonly string[]) => void,
): HTMLElement {
  const names = shortNames(runs);
  const items = runs.map(({ id, folder, changedAt }) => {
    const isChosen = chosen.includes(id);
    const toggle = () => choose(isChosen ? chosen.filter((each) => each !== id) : [...chosen, id]);
    const box = h('input', {
      type: 'checkbox',
      checked: isChosen,
      'data-key': `run-${id}`,
      onchange: toggle,
    });
    // The last one stays: a page without a run would be empty.
    box.disabled = isChosen && chosen.length === 1;
    const when = h('span', { class: 'small' }, ago(Date.now() - changedAt));
    return h('li', {}, h('label', { title: folder }, box, h('span', {}, names.get(id)), when));
  });
  return h('ul', { class: 'runs' }, ...items);
}

/** The options in which runs differ, a column for each run. */
export function differences(
  runs: readonly { readonly name: string; readonly details: RunDetails }[],
): HTMLElement {
  const names = [...new Set(runs.flatMap(({ details }) => Object.keys(details.options)))].sort();
  const valueOf = (details: RunDetails, name: string) => String(details.options[name] ?? '–');
  const differing = names.filter(
    (name) => new Set(runs.map(({ details }) => valueOf(details, name))).size > 1,
  );
  if (differing.length === 0) return h('p', {}, 'All options that are recorded are equal.');
  const head = h(
    'tr',
    {},
    h('th', { scope: 'col' }, 'Option'),
    ...runs.map(({ name }) => h('th', { scope: 'col' }, name)),
  );
  const rows = differing.map((name) =>
    h(
      'tr',
      {},
      h('th', { scope: 'row' }, h('code', {}, name)),
      ...runs.map(({ details }) => h('td', {}, valueOf(details, name))),
    ),
  );
  return h('table', { class: 'plain' }, h('thead', {}, head), h('tbody', {}, ...rows));
}

/** All options of one run. */
export function optionsTable({ options }: RunDetails): HTMLElement {
  const rows = Object.entries(options).map(([name, value]) =>
    h('tr', {}, h('th', { scope: 'row' }, h('code', {}, name)), h('td', {}, String(value))),
  );
  return h('table', { class: 'plain' }, h('tbody', {}, ...rows));
}
