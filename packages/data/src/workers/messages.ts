import type { IndexedDataset, SampleDraw, WorkerDataset } from '@acc/formats';

/** Asks a worker for a batch. */
export interface BatchRequest {
  readonly id: number;
  readonly indices: Int32Array;
  readonly draw: SampleDraw;
  /** Memory of an earlier batch, which the worker may fill. */
  readonly memory: SharedArrayBuffer | undefined;
  /** Whether the worker combines samples. If not, it sends them one by one. */
  readonly packs: boolean;
}

export type BatchReply =
  | { readonly id: number; readonly structure: unknown; readonly memory: SharedArrayBuffer }
  | { readonly id: number; readonly samples: unknown[] }
  | { readonly id: number; readonly failure: WorkerFailure };

/** An error of a worker. Errors lose their code when they are sent. */
export interface WorkerFailure {
  /** The part that failed: the dataset or one of its samples. Undefined: the batch. */
  readonly where: 'dataset' | { readonly index: number; readonly name: string | undefined } | undefined;
  readonly message: string;
  readonly stack: string | undefined;
  readonly code: string | undefined;
  readonly details: unknown;
}

/**
 * The dataset of a module.
 *
 * @throws TypeError if the export is missing or is no dataset.
 */
export async function openDataset(dataset: WorkerDataset): Promise<IndexedDataset<unknown>> {
  const { module, export: name = 'default', args = [] } = dataset;
  const exports = (await import(module)) as Record<string, unknown>;
  if (!(name in exports)) throw new TypeError(`${module} has no export '${name}'`);
  const created: unknown = exports[name];
  const opened: unknown =
    typeof created === 'function'
      ? await (created as (...args: readonly unknown[]) => unknown)(...args)
      : created;
  const { length, get } = (opened ?? {}) as Partial<IndexedDataset<unknown>>;
  if (typeof length === 'number' && typeof get === 'function') return opened as IndexedDataset<unknown>;
  throw new TypeError(`the export '${name}' of ${module} gives no dataset {length, get(i)}`);
}
