import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { isRecord } from '@acc/contract';
import type { Facts } from '@acc/records';
import { shellWord } from '../../launch/shell-word.js';
import type { Checkpoints, SavedCheckpoint } from '../server/answers.js';

/** Newer ones are more often wanted. */
const MOST = 20;
/** The file that a checkpoint gets last. */
const MARKER = 'checkpoint.json';

/** The complete checkpoints of a run, as they lie there now. Undefined: its records do not say where. */
export async function checkpointsOf(facts: Facts | undefined): Promise<Checkpoints | undefined> {
  if (facts?.checkpoints === undefined) return undefined;
  const { checkpoints: place, startedIn = '', command } = facts;
  const resume = command && `cd ${shellWord(startedIn)} && ${command}`;
  // Only of a folder the files are here.
  if (/^[\w+.-]+:\/\//.test(place)) return { place, isListed: false, saved: [], command: resume };
  const folder = resolve(startedIn, place);
  const names = await readdir(folder).catch(() => []);
  const newest = names.toSorted().toReversed().slice(0, MOST);
  const saved = await Promise.all(newest.map((name) => markerOf(join(folder, name))));
  const complete = saved.flat().sort((a, b) => b.step - a.step);
  return { place: folder, isListed: true, saved: complete, command: resume };
}

/** None: it is no checkpoint, or is being saved. */
async function markerOf(folder: string): Promise<SavedCheckpoint[]> {
  try {
    const marker: unknown = JSON.parse(await readFile(join(folder, MARKER), 'utf8'));
    if (!isRecord(marker) || marker.format !== 'acc-checkpoint' || typeof marker.step !== 'number') return [];
    const metrics = isRecord(marker.metrics) ? (marker.metrics as SavedCheckpoint['metrics']) : {};
    return [{ folder, step: marker.step, savedAt: String(marker.savedAt), metrics }];
  } catch {
    return [];
  }
}
