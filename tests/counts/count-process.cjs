// Loaded before everything else by each Node process of a counted run of the tests. It appends lines
// of JSON to `processes.jsonl`: one at the start of a process, one at its end, and one at the end of
// each module of continuous ranks.
'use strict';
const { appendFileSync } = require('node:fs');
const { subscribe } = require('node:diagnostics_channel');
const { isMainThread } = require('node:worker_threads');

const { ACC_TEST_COUNTS: folder, ACC_TEST_FILE: test } = process.env;
if (isMainThread && folder && test) count();

function count() {
  const { pid } = process;
  const write = (line) => appendFileSync(`${folder}/processes.jsonl`, `${JSON.stringify(line)}\n`);
  const processorSeconds = () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  };
  const backwardPasses = countBackwardPasses();
  let before = { processorSeconds: 0, backwardPasses: 0 };
  /** What was used since the last call. */
  const used = () => {
    const now = { processorSeconds: processorSeconds(), backwardPasses: backwardPasses() };
    const more = Object.fromEntries(Object.entries(now).map(([key, value]) => [key, value - before[key]]));
    before = now;
    return more;
  };
  write({ event: 'start', pid, test, program: process.argv[1] });
  // The start of a job belongs to its first module.
  subscribe('@acc/testkit:runs', ({ id }) => write({ event: 'module', pid, id, ...used() }));
  process.on('exit', () => write({ event: 'end', pid, ...used() }));
}

/** tfjs creates its engine once in a process, as the property `_tfengine` of the global object. */
function countBackwardPasses() {
  let passes = 0;
  let engine;
  Object.defineProperty(globalThis, '_tfengine', {
    configurable: true,
    enumerable: true,
    get: () => engine,
    set(value) {
      engine = value;
      const { startTape } = value;
      value.startTape = function counted() {
        passes++;
        return startTape.call(this);
      };
    },
  });
  return () => passes;
}
