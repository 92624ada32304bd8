import { AccError, checkKeys } from '@acc/contract';
import { readWandbEnvironment } from './environment.js';

export interface WandbOptions {
  /**
   * When the `wandb` program uploads the run: at its `end` (default), `live` during the training,
   * or `never`. A run can always be uploaded later. WANDB_MODE=offline means never.
   */
  readonly upload?: 'end' | 'live' | 'never';
  /** The user or team. Default: WANDB_ENTITY, else the user's default entity. */
  readonly entity?: string;
  /** The project. Default: WANDB_PROJECT, else the project of `initTrackers`. */
  readonly project?: string;
  readonly group?: string;
  readonly jobType?: string;
  readonly notes?: string;
  /** The time that the end of a run waits for its upload, in milliseconds. Default 300,000. */
  readonly uploadMs?: number;
  /** The `wandb` program. Default: the one on the PATH. */
  readonly program?: string;
}

export interface ResolvedOptions extends WandbOptions {
  readonly upload: 'end' | 'live' | 'never';
  readonly uploadMs: number;
  readonly program: string;
}

const KEYS = ['upload', 'entity', 'project', 'group', 'jobType', 'notes', 'uploadMs', 'program'];
const UPLOADS = ['end', 'live', 'never'];

/** @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`. */
export function resolveOptions(options: WandbOptions): ResolvedOptions {
  checkKeys('wandb', options, KEYS);
  const resolved = {
    upload: 'end',
    uploadMs: 300_000,
    program: 'wandb',
    ...readWandbEnvironment(),
    ...options,
  } as const;
  if (!UPLOADS.includes(resolved.upload)) {
    throw invalid(`upload is ${JSON.stringify(resolved.upload)}`, `Give one of: ${UPLOADS.join(', ')}.`);
  }
  if (!(resolved.uploadMs > 0))
    throw invalid(`uploadMs is ${resolved.uploadMs}`, 'Give a number of milliseconds above 0.');
  return resolved;
}

function invalid(problem: string, help: string): AccError {
  return new AccError('ACC_INVALID_OPTION', `wandb: ${problem}.`, { help });
}
