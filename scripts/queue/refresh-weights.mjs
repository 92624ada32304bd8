// Writes the record of what test files cost (weights.json). `npm run test:time -- <folder>` calls it.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readCounts } from '../../tests/counts/read-counts.mjs';
import { root } from '../process.mjs';
import { RECORD } from './record.mjs';
import { refreshed } from './weights.mjs';

/**
 * @param {string} folder That of the counts of a whole run.
 * @param {{isLoaded: boolean}} options isLoaded: the machine did other work besides, so the seconds are too
 * long. A file keeps the part of a core that the record gives it, and a new one counts as computing.
 */
export function refreshWeights(folder, { isLoaded }) {
  const counts = readCounts(folder);
  const path = join(root, RECORD);
  const record = JSON.parse(readFileSync(path, 'utf8'));
  const isThere = (file) => existsSync(join(root, file));
  const rows = refreshed(record, counts, { isLoaded, isThere });
  const text = Object.entries(rows).map(([file, row]) => `  ${JSON.stringify(file)}: ${JSON.stringify(row)}`);
  writeFileSync(path, `{\n${text.join(',\n')}\n}\n`);
  console.log(`${Object.keys(rows).length} files, ${counts.size} of them counted now: ${path}`);
}
