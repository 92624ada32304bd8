import { ASKS } from './asks-script.js';

/**
 * The thread that writes records: every 250 ms it samples the process, takes the rows of steps from the
 * ring, and appends both to their files. It is plain text, so that bundles need no extra file. See
 * `format.ts` for the format, and `recorder.ts` for `control`.
 */
export const SCRIPT = `
const { Worker, workerData } = require('node:worker_threads');
const { appendFileSync, closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, writeSync } = require('node:fs');
const { crc32, deflateRawSync } = require('node:zlib');
const { control, ring, files, facts, rank, everyMs, magic, headerBytes, kind } = workerData;
const state = new Int32Array(control);
const [WRITTEN, TAKEN, CLOSING, DONE, DROPPED, COLLECTIVES, DEPTH] = [0, 1, 2, 3, 4, 5, 6];
const width = files.steps.columns.length;
const rows = new Float64Array(ring);
const capacity = rows.length / width;
let hasFailed = false;
${ASKS}

/** Training goes on also if nobody reads what it says. */
function tell(text) {
  try {
    writeSync(2, 'acc: ' + text + '\\n');
  } catch {}
}

function block(type, payload) {
  const bytes = Buffer.alloc(headerBytes + payload.length);
  [magic, type, payload.length, crc32(payload)].forEach((word, i) => bytes.writeUInt32LE(word, 4 * i));
  bytes.set(payload, headerBytes);
  return bytes;
}

function append(file, bytes) {
  for (let at = 0; at < bytes.length; ) at += writeSync(file.fd, bytes, at);
}

function write(file, list) {
  const values = new Float64Array(list.length * file.columns.length);
  list.forEach((row, i) => file.columns.forEach((_, column) => { values[column * list.length + i] = row[column]; }));
  append(file, block(kind.rows, deflateRawSync(Buffer.from(values.buffer), { level: 1 })));
}

function takeRows() {
  const [from, to] = [Atomics.load(state, TAKEN), Atomics.load(state, WRITTEN)];
  const list = [];
  for (let i = from; i !== to; i++) {
    const at = (i % capacity) * width;
    list.push(rows.slice(at, at + width));
  }
  Atomics.store(state, TAKEN, to);
  return list;
}

/** The time that was stolen from the host, and the time in which its processors were busy. */
function hostMs() {
  if (process.platform !== 'linux') return [NaN, NaN];
  const [, ...ticks] = readFileSync('/proc/stat', 'utf8').split('\\n', 1)[0].split(/ +/);
  // User, nice, system, idle, waiting for disks, interrupts (2), stolen. Of 10 ms each, as for every user.
  const [user, nice, system, , , hard, soft, stolen] = ticks.map((count) => 10 * Number(count));
  return [stolen, user + nice + system + hard + soft];
}

/** The second number is the time on the queue of runnable threads, in nanoseconds. */
function runQueueMs() {
  try {
    return Number(readFileSync('/proc/' + process.pid + '/task/' + process.pid + '/schedstat', 'utf8').split(' ')[1]) / 1e6;
  } catch {
    return NaN;
  }
}

function readText(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

/** The files with the time in which limits held this process up, of both versions of cgroups. */
function throttleFiles() {
  const lines = (readText('/proc/self/cgroup') ?? '').split('\\n').map((line) => line.split(':'));
  return lines.flatMap(([, names = '', path = '']) => {
    if (names === '') return ['/sys/fs/cgroup' + path + '/cpu.stat', '/sys/fs/cgroup/cpu.stat'];
    return names.split(',').includes('cpu') ? ['/sys/fs/cgroup/' + names + path + '/cpu.stat', '/sys/fs/cgroup/cpu/cpu.stat'] : [];
  });
}

const throttlePath = throttleFiles().find((path) => /throttled_/.test(readText(path) ?? ''));

/** Without a limit, nothing is held up. */
function throttledMs() {
  if (process.platform !== 'linux') return NaN;
  if (throttlePath === undefined) return 0;
  const [, unit, time] = /throttled_(usec|time) (\\d+)/.exec(readText(throttlePath) ?? '') ?? [];
  return unit === undefined ? NaN : Number(time) / (unit === 'usec' ? 1e3 : 1e6);
}

/** The pressure of memory, in microseconds. */
function memoryStallMs() {
  const [, total] = /^some .*total=(\\d+)/m.exec(readText('/proc/pressure/memory') ?? '') ?? [];
  return total === undefined ? NaN : Number(total) / 1000;
}

function sample() {
  const used = process.resourceUsage();
  const cpuMs = (used.userCPUTime + used.systemCPUTime) / 1000;
  const time = performance.timeOrigin + performance.now();
  const [stolen, busy] = hostMs();
  return [time, process.memoryUsage.rss(), cpuMs, stolen, used.majorPageFault, used.minorPageFault, used.involuntaryContextSwitches, runQueueMs(), busy, state[COLLECTIVES], Math.min(1, state[DEPTH]), throttledMs(), memoryStallMs()];
}

function turn() {
  const list = takeRows();
  if (hasFailed) return;
  try {
    if (list.length > 0) write(files.steps, list);
    write(files.samples, [sample()]);
    const dropped = Atomics.exchange(state, DROPPED, 0);
    if (dropped > 0) tell('the records of rank ' + rank + ' lack ' + dropped + ' steps: the thread that writes them got no processor.');
  } catch (error) {
    hasFailed = true;
    tell('the records of rank ' + rank + ' end here, and training goes on. ' + error.message + '. Free space or make the folder again, and start the next run.');
  }
}

function look() {
  try {
    lookForRequest();
  } catch {}
}

function open() {
  try {
    appendFileSync(facts.path, facts.line);
    for (const file of Object.values(files)) {
      file.fd = openSync(file.path, 'a');
      append(file, block(kind.columns, Buffer.from(JSON.stringify({ columns: file.columns, rank }))));
    }
  } catch (error) {
    hasFailed = true;
    tell('rank ' + rank + ' keeps no records, and training goes on. ' + error.message + '. Free space or set another projectDir, and start the next run.');
  }
}

function close() {
  try {
    for (const { fd } of Object.values(files)) if (fd !== undefined) closeSync(fd);
  } catch (error) {
    if (!hasFailed) tell('the last records of rank ' + rank + ' may be missing. ' + error.message + '. Free space, and start the next run.');
  }
}

try {
  open();
  passOverOld();
  let isClosing = false;
  while (!isClosing) {
    isClosing = Atomics.load(state, CLOSING) === 1;
    if (!isClosing) Atomics.wait(state, CLOSING, 0, everyMs);
    turn();
    look();
  }
  close();
} finally {
  Atomics.store(state, DONE, 1);
  Atomics.notify(state, DONE);
}
`;
