// Reads the lines that a counted run has written (count-file.ts, count-process.cjs).
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The counts of each test file, by its path: its `seconds`; `processorSeconds` of the file and of the
 * processes that it started; `launches` of jobs by runRanks, and `ranks`, their processes; `modules` that ran on
 * continuous ranks; `jobs` of continuous ranks that were started for one of these, which depends on the
 * files before it; `processes`, all of Node.js; `backwardPasses` of all processes. The last two are 0
 * unless processes were counted.
 */
export function readCounts(folder) {
  const files = new Map();
  const of = (test) => {
    if (!files.has(test)) {
      const counts = {
        processorSeconds: 0,
        seconds: 0,
        launches: 0,
        ranks: 0,
        modules: 0,
        jobs: 0,
        processes: 0,
        backwardPasses: 0,
      };
      files.set(test, counts);
    }
    return files.get(test);
  };
  const testOfRun = new Map();
  for (const line of linesOf(join(folder, 'files.jsonl'))) {
    const counts = of(line.test);
    if (line.event === 'file') {
      counts.processorSeconds += line.processorSeconds;
      counts.seconds += line.seconds;
    } else if (line.isContinuous) add(counts, { modules: 1, jobs: Number(line.isNewJob) });
    else add(counts, { launches: 1, ranks: line.ranks });
    if (line.event === 'run') testOfRun.set(line.id, line.test);
  }
  const testOfProcess = new Map();
  for (const line of linesOf(join(folder, 'processes.jsonl'))) {
    if (line.event === 'start') testOfProcess.set(line.pid, line.test);
    const test = testOfRun.get(line.id) ?? testOfProcess.get(line.pid);
    if (test === undefined) continue;
    if (line.event === 'start') {
      add(of(test), { processes: 1 });
    } else {
      add(of(test), { backwardPasses: line.backwardPasses });
      if (line.event === 'module') add(of(test), { processorSeconds: line.processorSeconds });
    }
  }
  return files;
}

const add = (counts, more) => {
  for (const [key, value] of Object.entries(more)) counts[key] += value;
};

/** A process that is killed may leave half a line. */
function linesOf(file) {
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line) => {
      try {
        return line === '' ? [] : [JSON.parse(line)];
      } catch {
        return [];
      }
    });
}
