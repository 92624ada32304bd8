import { badColumn, badFormat } from '../errors.js';
import type { ResolvedFileOptions } from '../file-options.js';
import { parseJson } from '@acc/contract';
import { scanLines } from '../jsonl/line-framing.js';
import { openRecordFiles, recordDataset } from '../records/record-dataset.js';
import type { BlockDataset } from '../blocks/block-dataset.js';
import type { RecordFormat } from '../records/record-format.js';
import type { Locations } from '../sources/locations.js';

/** The extent of a document: a line of JSON Lines, a line of text, or a whole file. */
export type DocumentKind = 'jsonl' | 'lines' | 'files';

const FRAMINGS = {
  jsonl: { framing: 'lines', scan: scanLines },
  lines: { framing: 'lines', scan: scanLines },
  files: { framing: 'file', scan: ({ bytes }: { bytes: number }) => Promise.resolve([0, bytes]) },
};

/** The texts of files, numbered. */
export async function openDocuments(
  locations: Locations,
  { kind, key }: { readonly kind: DocumentKind; readonly key: string },
  options: ResolvedFileOptions,
): Promise<{ readonly texts: BlockDataset<string>; readonly versions: unknown }> {
  const format: RecordFormat<string> = {
    ...FRAMINGS[kind],
    unit: 'document',
    decode(bytes, place) {
      let text: string;
      try {
        text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
      } catch (cause) {
        throw badFormat(place, 'it is no text in UTF-8', { cause });
      }
      if (kind === 'files') return text;
      if (kind === 'lines') return text.replace(/[\r\n]+$/, '');
      return textIn(text, key, (what, isColumn) =>
        isColumn ? badColumn(place, what) : badFormat(place, what),
      );
    },
  };
  const state = await openRecordFiles(locations, format, options);
  const versions = state.files.map(({ location, bytes, tag }) => [location, bytes, tag]);
  return { texts: await recordDataset(state, format, options, undefined), versions };
}

function textIn(line: string, key: string, error: (what: string, isColumn: boolean) => Error): string {
  let value: unknown;
  try {
    value = parseJson(line);
  } catch (cause) {
    throw error(`it cannot be read as JSON: ${(cause as Error).message}`, false);
  }
  const text = (value as Record<string, unknown> | null)?.[key];
  if (typeof text === 'string') return text;
  throw error(`the key '${key}' ${text === undefined ? 'is missing' : 'is no text'}`, true);
}
