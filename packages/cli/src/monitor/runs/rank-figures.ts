import { join } from 'node:path';
import type { AccError } from '@acc/contract';
import {
  formatError,
  meanParts,
  parseFacts,
  RecordsTail,
  type Facts,
  type RankRecords,
  type SampleRow,
  type StepRow,
} from '@acc/records';
import { SAMPLE_CURVES, STEP_CURVES, type Curve } from '../curves/catalogue.js';
import type { PhaseTimes } from '../curves/phases.js';
import { Series } from '../curves/series.js';
import { GrowingFile } from './growing-file.js';

/** The steps that the verdict is about. */
export const JUDGED_STEPS = 5000;
/** The steps that the table of ranks is about. */
export const RECENT_STEPS = 200;
/** So many samples, one every 250 ms, are those of the judged steps if a step takes up to a second. */
const JUDGED_SAMPLES = 4 * JUDGED_STEPS;

/** The figures of one rank, from files that grow. */
export class RankFigures {
  /** The curves that are kept, by their id. */
  readonly series: Readonly<Partial<Record<string, Series>>>;
  readonly #files: Readonly<Record<'steps' | 'samples' | 'facts', GrowingFile>>;
  readonly #stepsTail = new RecordsTail<StepRow>();
  readonly #samplesTail = new RecordsTail<SampleRow>();
  readonly #problems = new Map<string, string>();
  #steps: StepRow[] = [];
  #samples: SampleRow[] = [];
  #firstTime = NaN;
  #factsText = '';
  #facts: Facts | undefined;
  #formatError: AccError | undefined;

  /** @param curves Those to keep: each point takes 16 bytes. */
  constructor(
    folder: string,
    readonly rank: number,
    curves: readonly Curve[],
  ) {
    this.series = Object.fromEntries(curves.map(({ id }) => [id, new Series()]));
    this.#files = {
      steps: new GrowingFile(join(folder, `steps-rank-${rank}.acc`)),
      samples: new GrowingFile(join(folder, `samples-rank-${rank}.acc`)),
      facts: new GrowingFile(join(folder, `facts-rank-${rank}.jsonl`)),
    };
  }

  get facts(): Facts | undefined {
    return this.#facts;
  }

  /** All steps that were recorded. */
  get stepCount(): number {
    return this.#stepsTail.rowCount;
  }

  get lastStep(): StepRow | undefined {
    return this.#steps.at(-1);
  }

  /** The time of the last record, in milliseconds since 1970. */
  get lastTime(): number {
    return Math.max(this.lastStep?.end ?? 0, this.#samples.at(-1)?.time ?? 0);
  }

  /** The records that a diagnosis reads. */
  get recent(): RankRecords {
    const steps = this.#steps.slice(-JUDGED_STEPS);
    const resumedAt = Math.max(0, this.#stepsTail.lastBegin - (this.stepCount - steps.length));
    const samples = this.#samples.slice(-JUDGED_SAMPLES);
    return { rank: this.rank, steps, resumedAt, samples, facts: this.#facts };
  }

  get problems(): readonly string[] {
    return [...this.#problems.values()];
  }

  phases(): PhaseTimes | undefined {
    return meanParts(this.#steps.slice(-RECENT_STEPS), this.#facts);
  }

  async wasReplaced(): Promise<boolean> {
    const replaced = await Promise.all(Object.values(this.#files).map((file) => file.wasReplaced()));
    return replaced.includes(true);
  }

  /**
   * Reads what was appended.
   *
   * @returns Whether there was something.
   * @throws AccError `ACC_RECORDS_FORMAT` if the steps are in another format.
   */
  async read(): Promise<boolean> {
    if (this.#formatError) throw this.#formatError;
    const facts = await this.#readFacts();
    const steps = await this.#readRows('steps', this.#stepsTail, (row) => this.#addStep(row));
    const samples = await this.#readRows('samples', this.#samplesTail, (row) => this.#addSample(row));
    return facts || steps || samples;
  }

  async #readFacts(): Promise<boolean> {
    const before = this.#factsText.length;
    const decoder = new TextDecoder();
    for await (const part of this.#files.facts.appended())
      this.#factsText += decoder.decode(part, { stream: true });
    if (this.#factsText.length === before) return false;
    this.#facts = parseFacts(this.#factsText);
    return true;
  }

  async #readRows<T extends StepRow | SampleRow>(
    kind: 'steps' | 'samples',
    tail: RecordsTail<T>,
    addRow: (row: T) => void,
  ): Promise<boolean> {
    const { path } = this.#files[kind];
    let isFirst = tail.bytes === 0;
    let hasNew = false;
    for await (const part of this.#files[kind].appended()) {
      const error = isFirst ? formatError(part, path) : undefined;
      if (error && kind === 'steps') throw (this.#formatError = error);
      if (error) this.#problems.set(path, error.message);
      isFirst = false;
      const rows = await tail.add(part);
      for (const row of rows) addRow(row);
      hasNew ||= rows.length > 0;
    }
    return hasNew;
  }

  #addStep(row: StepRow): void {
    this.#steps.push(row);
    if (this.#steps.length >= 2 * JUDGED_STEPS) this.#steps = this.#steps.slice(-JUDGED_STEPS);
    for (const { id, of } of STEP_CURVES) {
      const value = of(row);
      if (value !== undefined) this.series[id]?.push(row.step, value);
    }
  }

  #addSample(row: SampleRow): void {
    if (Number.isNaN(this.#firstTime)) this.#firstTime = row.time;
    const before = this.#samples.at(-1);
    this.#samples.push(row);
    if (this.#samples.length >= 2 * JUDGED_SAMPLES) this.#samples = this.#samples.slice(-JUDGED_SAMPLES);
    for (const { id, of } of SAMPLE_CURVES) {
      const value = of(row, before);
      if (value !== undefined) this.series[id]?.push((row.time - this.#firstTime) / 1000, value);
    }
  }
}
