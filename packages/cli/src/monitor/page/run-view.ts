import type { RunDetails } from '../server/answers.js';
import { alertsList } from './alerts-list.js';
import { checkpointsList } from './checkpoints-list.js';
import { Foldings, h, replace } from './dom.js';
import { JobView } from './job-view.js';
import { MediaView } from './media-view.js';
import { ranksTable } from './ranks-table.js';
import { differences, optionsTable } from './runs-list.js';
import { verdictOf } from './verdict.js';
import { WindowsView } from './windows-view.js';

/** The parts of the page that are text and tables. */
export class RunView {
  readonly verdict = h('section', { 'aria-label': 'Verdict' });
  /** The part that asks a running job. */
  readonly job: HTMLElement;
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
  readonly #job = new JobView(this.#foldings);
  readonly #checkpoints = h('section', { hidden: true, 'aria-label': 'Checkpoints' });
  readonly #media = new MediaView();
  readonly #windows: WindowsView;

  constructor(onError: (error: unknown) => void) {
    this.job = this.#job.element;
    this.#windows = new WindowsView(onError);
    this.sections = [
      this.#windows.element,
      h('section', {}, h('h2', {}, 'Ranks'), this.#ranksNote, this.#ranks),
      h('section', {}, h('h2', {}, 'Alerts'), this.#alerts),
      this.#media.element,
      this.#checkpoints,
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
    this.#job.draw(first);
    this.#windows.draw(first);
    this.#media.draw(first);
    this.#checkpoints.hidden = first.checkpoints === undefined;
    if (first.checkpoints) replace(this.#checkpoints, ...checkpointsList(first.checkpoints));
    const isCompared = runs.length > 1;
    this.#optionsTitle.textContent = isCompared ? 'Different options' : 'Options';
    const named = runs.map((details) => ({ name: names.get(details.id)!, details }));
    const all = () => this.#foldings.details('options', 'Options and facts of the run', optionsTable(first));
    replace(this.#options, isCompared ? differences(named) : all());
  }
}
