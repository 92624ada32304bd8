import type { Change, DrawnSeries, RunDetails, RunList, RunSummary } from '../server/answers.js';
import { Charts } from './charts.js';
import { ask, RequestError, UnreachableError } from './client.js';
import { h, replace } from './dom.js';
import { followChanges } from './follow.js';
import { RunView } from './run-view.js';
import { runsList, shortNames } from './runs-list.js';

const ASK_MS = 3000;
const LOST = 'acc monitor has ended, or cannot be reached.';

/** The page: it shows runs, and what changes in them. */
export class MonitorPage {
  readonly #charts = new Charts({
    nameOf: (series) => this.#nameOf(series),
    onError: (error) => this.#fail(error),
  });
  readonly #status = h('p', { class: 'status', role: 'status' });
  readonly #heading = h('h1', {}, 'acc monitor');
  readonly #side = h('nav', { class: 'side', 'aria-label': 'Runs' });
  readonly #view = new RunView((error) => this.#fail(error));
  #runs: readonly RunSummary[] = [];
  #chosen: readonly string[] = [];
  #details: readonly RunDetails[] = [];
  #isLoading = false;
  #isStale = false;

  constructor(private readonly root: Element) {}

  /** Shows the newest run, and follows changes. */
  async start(): Promise<void> {
    try {
      this.#runs = (await ask<RunList>('runs')).runs;
    } catch (error) {
      this.#refuse(error);
      return;
    }
    this.#layOut();
    this.#say('Reading the records …', 'ended');
    this.#choose(this.#runs.slice(0, 1).map(({ id }) => id));
    followChanges(
      (change) => this.#onChange(change),
      () => this.#say(LOST, 'lost'),
    );
    // The end of a run is no change of its files.
    setInterval(() => {
      if (!document.hidden && this.#details.some(({ isLive }) => isLive)) void this.#load();
    }, ASK_MS);
  }

  #layOut(): void {
    const curves = h(
      'section',
      {},
      h('div', { class: 'row' }, h('h2', {}, 'Curves'), this.#charts.toolbar),
      this.#charts.element,
    );
    const { verdict, job, sections } = this.#view;
    const main = h('main', {}, verdict, job, curves, ...sections);
    const top = h('header', {}, this.#heading, this.#status);
    this.root.replaceChildren(top, h('div', { class: 'columns' }, this.#side, main));
  }

  #choose(chosen: readonly string[]): void {
    this.#chosen = chosen;
    this.#drawSide();
    this.#charts.show(chosen);
    void this.#load();
  }

  #drawSide(): void {
    const list = runsList(this.#runs, this.#chosen, (chosen) => this.#choose(chosen));
    this.#side.hidden = this.#runs.length === 1;
    replace(this.#side, h('h2', {}, `${this.#runs.length} runs`), list);
  }

  #onChange({ versions, runs }: Change): void {
    const isOld = ({ id, version }: RunDetails) => versions[id] !== undefined && versions[id] !== version;
    if (runs !== this.#runs.length) void this.#loadRuns();
    // After a time without a connection, the status still says so.
    if (this.#details.some(isOld) || this.#status.dataset['state'] === 'lost') this.#refresh();
  }

  #refresh(): void {
    this.#charts.refresh();
    void this.#load();
  }

  async #loadRuns(): Promise<void> {
    try {
      this.#runs = (await ask<RunList>('runs')).runs;
      this.#drawSide();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Asks for the chosen runs, one request after the other. What changed meanwhile is asked for again. */
  async #load(): Promise<void> {
    this.#isStale = true;
    if (this.#isLoading) return;
    this.#isLoading = true;
    try {
      while (this.#isStale) {
        this.#isStale = false;
        this.#details = await Promise.all(this.#chosen.map((id) => ask<RunDetails>('run', { id })));
        this.#draw();
      }
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#isLoading = false;
    }
  }

  #draw(): void {
    const [first] = this.#details;
    if (!first) return;
    const name = this.#nameOfRun(first.id);
    this.#heading.textContent = name;
    document.title = `${name} · acc monitor`;
    const ranks = first.rankCount === 1 ? '1 rank' : `${first.rankCount} ranks`;
    this.#say(
      `${first.isLive ? 'Live' : 'Not running'} · step ${first.step.toLocaleString('en')} · ${ranks}`,
      first.isLive ? 'live' : 'ended',
    );
    this.#view.draw(this.#details, shortNames(this.#runs));
  }

  #nameOfRun(id: string): string {
    return this.#runs.find((run) => run.id === id)?.name ?? id;
  }

  #nameOf({ run, rank }: DrawnSeries): string {
    return this.#chosen.length > 1 ? shortNames(this.#runs).get(run)! : `rank ${rank}`;
  }

  #say(text: string, state: 'live' | 'ended' | 'lost'): void {
    this.#status.dataset['state'] = state;
    if (this.#status.textContent !== text) this.#status.textContent = text;
  }

  #fail(error: unknown): void {
    if (error instanceof RequestError && error.status === 401) this.#refuse(error);
    else this.#say(error instanceof UnreachableError ? LOST : (error as Error).message, 'lost');
  }

  /** Says why there is nothing to see. */
  #refuse(error: unknown): void {
    const text = h('p', {}, (error as Error).message);
    this.root.replaceChildren(h('main', { class: 'refused' }, h('h1', {}, 'acc monitor'), text));
  }
}
