// Loaded before everything else by each Node process of a counted run of the tests (counts.ts). It
// appends lines of JSON: one at the start, one at the end with processor seconds and backward passes.
'use strict';
const { appendFileSync } = require('node:fs');
const { isMainThread } = require('node:worker_threads');

const { ACC_TEST_COUNTS: folder, ACC_TEST_FILE: test, RANK, WORLD_SIZE } = process.env;
if (isMainThread && folder && test) {
  const write = (line) =>
    appendFileSync(`${folder}/processes.jsonl`, `${JSON.stringify({ test, ...line })}\n`);
  write({
    at: 'start',
    pid: process.pid,
    rank: RANK,
    ranks: WORLD_SIZE,
    program: process.argv[1],
    args: process.execArgv.length,
  });
  let backwardPasses = 0;
  let engine;
  // tfjs creates its engine once in a process, as this property of the global object.
  Object.defineProperty(globalThis, '_tfengine', {
    configurable: true,
    enumerable: true,
    get: () => engine,
    set: (value) => {
      engine = value;
      const startTape = value.startTape;
      value.startTape = function counted() {
        backwardPasses++;
        return startTape.call(this);
      };
    },
  });
  process.on('exit', () => {
    const { user, system } = process.cpuUsage();
    write({ at: 'end', pid: process.pid, processorSeconds: (user + system) / 1e6, backwardPasses });
  });
}
