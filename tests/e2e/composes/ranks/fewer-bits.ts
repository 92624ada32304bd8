// Trains the cells of the table of fewer bits on this job's ranks, one after the other. Returns the errors of
// what is refused.
import { join } from 'node:path';
import { isAccError } from '@acc/contract';
import type { Cell } from '../fewer-bits.js';
import { trainCell, type TrainedCell } from '../train-fewer-bits.js';

export interface Args {
  readonly cells: readonly Cell[];
  /** Shared by all ranks. */
  readonly folder: string;
  /** The base that adapters need. */
  readonly llama: string;
}

export interface Refused {
  readonly code: string;
  readonly message: string;
  readonly help: string | undefined;
}

export default async function trainAll({ cells, folder, llama }: Args): Promise<(TrainedCell | Refused)[]> {
  const results: (TrainedCell | Refused)[] = [];
  for (const { row, column } of cells) {
    try {
      results.push(await trainCell(row, column, { own: join(folder, `${row}-${column}`), llama }));
    } catch (error) {
      if (!isAccError(error)) throw error;
      results.push({ code: error.code, message: error.message, help: error.help });
    }
  }
  return results;
}
