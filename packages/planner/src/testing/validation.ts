import { predict } from '../predict.js';
import type { PredictOptions } from '../options.js';
import type { PublishedTable, Quantity } from './tables.js';

export interface Compared {
  readonly name: string;
  readonly measured: number;
  readonly predicted: number;
  /** In percent of the measured value. */
  readonly error: number;
  readonly isFitted: boolean;
}

export function compare({ quantity, rows }: PublishedTable): Compared[] {
  return rows.map(({ name, options, measured, isFitted }) => {
    const predicted = valueOf(quantity, options);
    return { name, measured, predicted, error: 100 * (predicted / measured - 1), isFitted };
  });
}

function valueOf(quantity: Quantity, options: PredictOptions): number {
  const prediction = predict(options);
  if (quantity !== 'tokensPerSecondAndDevice') return prediction[quantity];
  const { model, cluster, plan } = options;
  if (typeof model === 'string' || typeof cluster === 'string') throw new Error('A row has sizes, no paths.');
  return (plan.globalBatch * model.sequence) / prediction.stepSeconds / cluster.devices;
}

/** Of rows on which nothing was fitted. */
export function heldOut(rows: readonly Compared[]): { mean: number; most: number } {
  const errors = rows.filter(({ isFitted }) => !isFitted).map(({ error }) => Math.abs(error));
  return { mean: errors.reduce((sum, error) => sum + error, 0) / errors.length, most: Math.max(...errors) };
}

/** The committed document of all errors. */
export function documentOf(tables: readonly (readonly [PublishedTable, readonly Compared[]])[]): string {
  const sections = tables.map(([table, rows]) => {
    const { mean, most } = heldOut(rows);
    const lines = rows.map(({ name, measured, predicted, error, isFitted }) => [
      name,
      String(measured),
      predicted.toPrecision(4),
      `${error.toFixed(1)} %${isFitted ? ' (fitted)' : ''}`,
    ]);
    const summary = `Rows that no constant was fitted on: mean error ${mean.toFixed(1)} %, largest ${most.toFixed(1)} %.`;
    const header = ['row', UNITS[table.quantity], 'predicted', 'error'];
    return [`## ${table.name}`, `Source: ${table.source}.`, summary, tableOf(header, lines)].join('\n\n');
  });
  return `${[TITLE, ...sections].join('\n\n')}\n`;
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
