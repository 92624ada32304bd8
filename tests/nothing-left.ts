import { afterAll, beforeAll, expect } from 'vitest';

// A setup file of vitest for tests that share a process. A test file that leaves something in the
// process fails, because the next files would depend on it.
let before: object;

beforeAll(() => {
  before = stateOfProcess();
});

afterAll(() => {
  expect(stateOfProcess(), 'the file leaves the process as it was').toEqual(before);
});

function stateOfProcess(): object {
  return {
    env: { ...process.env },
    cwd: process.cwd(),
    umask: process.umask(),
    listeners: Object.fromEntries(process.eventNames().map((name) => [name, process.listenerCount(name)])),
    globals: Object.getOwnPropertyNames(globalThis).filter((name) => !name.startsWith('__vitest')),
    fetch: globalThis.fetch,
    // The engine of tfjs is a property of the global object.
    loadsTfjs: '_tfengine' in globalThis,
  };
}
