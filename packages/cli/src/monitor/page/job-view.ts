import type { JobDetails, LastCall, RankStack, RunDetails } from '../server/answers.js';
import { askJob } from './client.js';
import { h, replace, type Foldings } from './dom.js';
import { ago, plain } from './format.js';

const STEPS = 3;
const MOST_STEPS = 20;
/** Calls that are shown before a person asks for more. */
const FEW_CALLS = 1;

/** The part of the page that asks a running job. */
export class JobView {
  readonly element: HTMLElement;
  readonly #steps = h('input', {
    ...{ type: 'number', min: 1, max: MOST_STEPS, value: STEPS, id: 'window-steps', required: true },
  });
  readonly #record = h('button', { type: 'submit' }, 'Record');
  readonly #ask = h(
    'button',
    { type: 'button', onclick: () => void this.#send('stacks') },
    'Stacks of all ranks',
  );
  readonly #status = h('p', { class: 'small', role: 'status', 'aria-label': 'Answer of the job' });
  readonly #stacks = h('div', { class: 'stacks' });
  #run = '';
  /** Why the last request was not sent. */
  #refusal = '';
  #job: JobDetails | undefined;

  constructor(private readonly foldings: Foldings) {
    const form = h(
      'form',
      {
        class: 'ask',
        onsubmit: (event: Event) => {
          event.preventDefault();
          void this.#send('window');
        },
      },
      h('label', { for: 'window-steps' }, 'The next'),
      this.#steps,
      h('span', {}, 'steps of all ranks'),
      this.#record,
      this.#ask,
    );
    this.element = h(
      'section',
      { hidden: true, 'aria-label': 'Running job' },
      h('h2', {}, 'Running job'),
      form,
      this.#status,
      this.#stacks,
    );
  }

  draw({ id, job }: RunDetails): void {
    this.#run = id;
    this.#job = job;
    this.element.hidden = job === undefined;
    if (!job) return;
    this.#record.disabled = job.asked !== undefined || !job.isRunning;
    // A job that hangs does not take the steps that it was asked for.
    this.#ask.disabled = job.asked?.ask === 'stacks' || !job.isRunning;
    this.#say();
    replace(this.#stacks, ...this.#drawnStacks(job));
  }

  #say(): void {
    const text = this.#refusal || textOf(this.#job);
    if (this.#status.textContent !== text) this.#status.textContent = text;
  }

  async #send(ask: 'stacks' | 'window'): Promise<void> {
    const steps = this.#steps.valueAsNumber;
    this.#refusal = '';
    try {
      await askJob({ run: this.#run, ask, ...(ask === 'window' && { steps }) });
    } catch (error) {
      this.#refusal = (error as Error).message;
    }
    this.#say();
  }

  #drawnStacks({ stacks }: JobDetails): HTMLElement[] {
    if (!stacks) return [];
    const heading = h('h3', {}, `Where each rank is, ${ago(Date.now() - stacks.at)}`);
    return [heading, ...stacks.ranks.map((stack) => this.#stack(stack))];
  }

  #stack(stack: RankStack): HTMLElement {
    const name = h('h3', {}, `Rank ${stack.rank}`);
    if (stack.silent !== undefined)
      return h('article', { class: 'card stack' }, name, h('p', {}, `No answer. ${stack.silent}`));
    const { rank, pid, place, thread, frames, calls, line } = stack;
    const older = calls.slice(0, -FEW_CALLS).toReversed();
    const more = h('ol', {}, ...older.map((call) => h('li', {}, callText(call))));
    return h(
      'article',
      { class: 'card stack' },
      h('div', { class: 'row' }, name, h('span', { class: 'small' }, `process ${pid}`)),
      h('p', {}, `It is ${place}.`),
      thread !== undefined && h('p', { class: 'small' }, `Its main thread ${thread}.`),
      frames.length > 0 &&
        h('ol', { class: 'frames' }, ...frames.map((frame) => h('li', {}, h('code', {}, frame)))),
      ...this.#lastCall(stack),
      line !== undefined && h('p', { class: 'small' }, 'Last known line of a call: ', h('code', {}, line)),
      older.length > 0 && this.foldings.details(`calls-${rank}`, `${older.length} calls before`, more),
    );
  }

  #lastCall({ calls, isInCollective }: Extract<RankStack, { pid: number }>): HTMLElement[] {
    const last = calls.at(-1);
    if (!last) return [h('p', {}, 'It has made no collective call since its records began.')];
    return [h('p', {}, isInCollective ? 'In ' : 'Last collective: ', ...callParts(last))];
  }
}

function textOf(job: JobDetails | undefined): string {
  if (!job) return '';
  if (!job.isRunning) return 'The job does not run any more, so it cannot be asked.';
  if (job.asked?.ask === 'stacks') return 'The ranks are asked …';
  if (job.asked) return `The window begins after step ${job.asked.fromStep!.toLocaleString('en')} …`;
  return job.problem ?? '';
}

function callParts({ number, call, secondsAgo }: LastCall): (Node | string)[] {
  const which = number > 0 ? `call ${number}, ` : '';
  return [which, h('code', {}, call), `, begun ${plain(secondsAgo)} s before`];
}

const callText = ({ number, call, secondsAgo }: LastCall): string =>
  `${number > 0 ? `call ${number}: ` : ''}${call}, ${plain(secondsAgo)} s before`;
