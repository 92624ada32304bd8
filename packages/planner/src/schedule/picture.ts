import type { Schedule } from './action.js';
import { simulate, type ActionCosts, type TimedAction } from './simulate.js';

const LETTERS = { forward: 'F', backward: 'B', weights: 'W' } as const;
const FIRST_CHUNK = 'a'.charCodeAt(0);

/**
 * The schedule as text: one line for each rank, one column for each unit of time. `F3` is the
 * forward pass of micro-batch 3, `B3` its backward pass, `W3` the gradients of its weights. With
 * several stages a rank, a small letter tells the stage: `F3b` is in the rank's second one.
 *
 * @param costs See {@link simulate}. Whole numbers.
 */
export function pictureOf(schedule: Schedule, costs?: ActionCosts): string {
  const { rows, duration } = simulate(schedule, costs);
  const labels = rows.map((row) => row.map((action) => labelOf(action, schedule)));
  const width = Math.max(...labels.flat().map(({ length }) => length)) + 1;
  const digits = `${schedule.ranks - 1}`.length;
  const lines = rows.map((row, rank) => {
    const cells = new Array<string>(duration).fill('.');
    row.forEach(({ start, end }, i) => cells.fill(labels[rank]![i]!, start, end));
    return `rank ${`${rank}`.padStart(digits)}  ${cells.map((cell) => cell.padEnd(width)).join('')}`.trimEnd();
  });
  return lines.join('\n');
}

function labelOf({ kind, stage, microBatch }: TimedAction, { ranks, stages }: Schedule): string {
  const chunk = stages > ranks ? String.fromCharCode(FIRST_CHUNK + Math.floor(stage / ranks)) : '';
  return `${LETTERS[kind]}${microBatch}${chunk}`;
}
