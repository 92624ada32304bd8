import { predict } from '../predict.js';
import type { PredictOptions } from '../options.js';
import type { PublishedTable, Quantity } from './tables.js';

export interface Compared {
  readonly name: string;
  readonly measured: number;
  readonly predicted: number;
  /** In percent of the measured value. */
  readonly error: number;
  readonly isAimedAt: boolean;
}

export function compare({ quantity, rows }: PublishedTable): Compared[] {
  return rows.map(({ name, options, measured, isAimedAt }) => {
    const predicted = valueOf(quantity, options);
    return { name, measured, predicted, error: 100 * (predicted / measured - 1), isAimedAt };
  });
}

function valueOf(quantity: Quantity, options: PredictOptions): number {
  const prediction = predict(options);
  if (quantity !== 'tokensPerSecondAndDevice') return prediction[quantity];
  const { model, cluster, plan } = options;
  if (typeof model === 'string' || typeof cluster === 'string') throw new Error('A row has sizes, no paths.');
  return (plan.globalBatch * model.sequence) / prediction.stepSeconds / cluster.devices;
}

/** Errors in percent. */
export interface Errors {
  /** Of rows at which no constant was aimed. */
  readonly mean: number;
  readonly most: number;
  readonly meanOfAll: number;
}

export function errorsOf(rows: readonly Compared[]): Errors {
  const errors = rows.map(({ error, isAimedAt }) => ({ error: Math.abs(error), isAimedAt }));
  const others = errors.filter(({ isAimedAt }) => !isAimedAt);
  return {
    mean: meanOf(others),
    most: Math.max(...others.map(({ error }) => error)),
    meanOfAll: meanOf(errors),
  };
}

const meanOf = (rows: readonly { readonly error: number }[]): number =>
  rows.reduce((sum, { error }) => sum + error, 0) / rows.length;

/** The part of {@link documentOf} on a table. */
export interface Section {
  readonly table: PublishedTable;
  readonly rows: readonly Compared[];
  /** Sentences on how the table's rows were used. */
  readonly notes: readonly string[];
}

/** The committed document of all errors. */
export const documentOf = (sections: readonly Section[]): string =>
  `${[TITLE, ...sections.map(textOf)].join('\n\n')}\n`;

function textOf({ table, rows, notes }: Section): string {
  const { mean, most, meanOfAll } = errorsOf(rows);
  const lines = rows.map(({ name, measured, predicted, error, isAimedAt }) => [
    name,
    String(measured),
    predicted.toPrecision(4),
    `${error.toFixed(1)} %${isAimedAt ? ' (aimed at)' : ''}`,
  ]);
  const summary =
    `Rows that are not marked: mean error ${mean.toFixed(1)} %, largest ${most.toFixed(1)} %. ` +
    `All rows: mean error ${meanOfAll.toFixed(1)} %.`;
  const header = ['row', UNITS[table.quantity], 'predicted', 'error'];
  return [
    ...[`## ${table.name}`, `Source: ${table.source}.`, [summary, ...barsOf(table, rows)].join(' ')],
    ...(notes.length > 0 ? [notes.join(' ')] : []),
    ...missesOf(rows),
    tableOf(header, lines),
  ].join('\n\n');
}

/** Sentences on whether the errors are as small as was aimed for. */
function barsOf({ bars }: PublishedTable, rows: readonly Compared[]): string[] {
  if (!bars) return [];
  const { mean, most } = errorsOf(rows);
  const sentenceOf = (name: string, bar: number, error: number) =>
    `The bar for the ${name} error, ${bar} %, is ${error > bar ? 'missed' : 'met'}.`;
  return [sentenceOf('mean', bars.mean, mean), sentenceOf('largest', bars.most, most)];
}

/** A sentence on the rows with large errors, if there are any. */
function missesOf(rows: readonly Compared[]): string[] {
  const misses = rows.filter(({ error }) => Math.abs(error) > 20);
  if (misses.length === 0) return [];
  return [`More than 20 % off: ${misses.map(({ name }) => name).join('; ')}.`];
}

const TITLE =
  '# Validation of the planner\n\nWritten by `npx vitest run packages/planner/src/validation.test.ts -u`. DESIGN.md explains it.';

const UNITS: Readonly<Record<Quantity, string>> = {
  tflopsPerDevice: 'measured TFLOP/s of a device',
  stepSeconds: 'measured seconds of a step',
  tokensPerSecondAndDevice: 'measured tokens/s of a device',
};

function tableOf(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((_, column) => Math.max(...[header, ...rows].map((row) => row[column]!.length)));
  const lineOf = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column]!)).join(' | ')} |`;
  return [lineOf(header), lineOf(widths.map((width) => '-'.repeat(width))), ...rows.map(lineOf)].join('\n');
}
