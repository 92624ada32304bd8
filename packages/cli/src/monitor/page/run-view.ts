import type { RunDetails } from '../server/answers.js';
import { alertsList } from './alerts-list.js';
import { Foldings, h, replace } from './dom.js';
import { ranksTable } from './ranks-table.js';
import { differences, optionsTable } from './runs-list.js';
import { verdictOf } from './verdict.js';

/** The parts of the page that are text and tables. */
export class RunView {
  readonly verdict = h('section', { 'aria-label': 'Verdict' });
  /** The parts after the curves. */
  readonly sections: readonly HTMLElement[];
  readonly #foldings = new Foldings();
  readonly #ranks = h('div', {
    class: 'scroll',
    tabindex: 0,
    role: 'region',
    'aria-label': 'Times of ranks',
  });
  readonly #ranksNote = h('p', { class: 'small' });
  readonly #alerts = h('div');
  readonly #options = h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Options' });
  readonly #optionsTitle = h('h2', {});

  constructor() {
    this.sections = [
      h('section', {}, h('h2', {}, 'Ranks'), this.#ranksNote, this.#ranks),
      h('section', {}, h('h2', {}, 'Alerts'), this.#alerts),
      h('section', {}, this.#optionsTitle, this.#options),
    ];
  }

  /** @param runs The first one is shown, and compared with the others. */
  draw(runs: readonly RunDetails[], names: ReadonlyMap<string, string>): void {
    const [first] = runs;
    if (!first) return;
    const problems = first.problems.map((text) => h('li', {}, text));
    const list = problems.length > 0 && h('ul', { class: 'problems' }, ...problems);
    replace(this.verdict, ...verdictOf(first, this.#foldings), list);
    this.#ranksNote.textContent = `Mean times in ms of the last ${first.recentSteps} steps. The stronger the colour, the more of the step.`;
    replace(this.#ranks, ranksTable(first));
    replace(this.#alerts, alertsList(first));
    const isCompared = runs.length > 1;
    this.#optionsTitle.textContent = isCompared ? 'Different options' : 'Options';
    const named = runs.map((details) => ({ name: names.get(details.id)!, details }));
    const all = () => this.#foldings.details('options', 'Options and facts of the run', optionsTable(first));
    replace(this.#options, isCompared ? differences(named) : all());
  }
}
