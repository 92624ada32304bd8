// Writes the record of what test files cost (weights.json) from a counted run of the tests:
// `node scripts/queue/refresh-weights.mjs <folder> [--loaded]`, after `npm test -- --counts <folder>`.
//
// The seconds of a machine that did other work besides are too long. With `--loaded` they are not
// used: a file keeps the part of a core that the record gives it, and a new one counts as computing.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readCounts } from '../../tests/counts/read-counts.mjs';
import { root, runMain } from '../process.mjs';
import { RECORD } from './record.mjs';
import { refreshed } from './weights.mjs';

await runMain(async () => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { loaded: { type: 'boolean', default: false } },
  });
  if (positionals.length !== 1) {
    console.error('usage: node scripts/queue/refresh-weights.mjs <folder> [--loaded]');
    return 2;
  }
  const counts = readCounts(positionals[0]);
  const path = join(root, RECORD);
  const record = JSON.parse(readFileSync(path, 'utf8'));
  const isThere = (file) => existsSync(join(root, file));
  const rows = refreshed(record, counts, { isLoaded: values.loaded, isThere });
  const text = Object.entries(rows).map(([file, row]) => `  ${JSON.stringify(file)}: ${JSON.stringify(row)}`);
  writeFileSync(path, `{\n${text.join(',\n')}\n}\n`);
  console.log(`${RECORD}: ${Object.keys(rows).length} files, ${counts.size} of them counted now`);
  return 0;
});
