/**
 * A thread that tells what the main thread does, and ends. The inspector of Node.js stops JavaScript for the
 * moment in which its stack is read. It cannot stop native code: a main thread that is blocked there does not
 * answer, and the last collectives with the last known line are told instead. If the event loop has nothing to
 * do, there is no stack, and what it waits for is told.
 */
export const STACKS = `
const { workerData } = require('node:worker_threads');
const { readFileSync, renameSync, writeFileSync } = require('node:fs');
const { SourceMap } = require('node:module');
const { fileURLToPath } = require('node:url');
const { path, rank, counts, calls } = workerData;
const ANSWER_MS = 2000;
const PAUSE_MS = 1000;
const MOST_FRAMES = 50;

function callText(words) {
  const { collectives, dtypes, ops, firstDim, mostDims, anyRows, rows, coalesced } = calls.tables;
  const [collective, dtype, op, root, dims] = words;
  const sizes = Array.from(words.slice(firstDim, firstDim + Math.max(0, Math.min(dims, mostDims))));
  const shape = sizes.map((size) => (size === anyRows ? words[rows] : size)).join(',');
  const parts = [
    dims >= 0 && (dtypes[dtype] ?? '') + '[' + shape + ']',
    words[coalesced] > 0 && 'of ' + words[coalesced] + ' tensors',
    op >= 0 && "'" + ops[op] + "'",
    root >= 0 && 'rank ' + root,
  ];
  return (collectives[collective] ?? 'unknown') + '(' + parts.filter(Boolean).join(', ') + ')';
}

const text = (bytes) => Buffer.from(bytes).toString('utf8').replace(/\\0.*$/s, '');

/** Oldest first. The number is 0 for a message. */
function lastCalls() {
  const [count] = new Uint32Array(calls.state);
  const { kept, textBytes, tables } = calls;
  const [times, words, texts] = [new Float64Array(calls.times), new Int32Array(calls.words), new Uint8Array(calls.texts)];
  const list = [];
  for (let i = Math.max(0, count - kept); i < count; i++) {
    const place = i % kept;
    const own = words.slice(place * tables.words, (place + 1) * tables.words);
    const isMessage = own[0] === -1;
    const call = isMessage ? text(texts.slice(place * textBytes, (place + 1) * textBytes)) : callText(own);
    list.push({ number: isMessage ? 0 : own[tables.number], call, at: times[place] });
  }
  return list;
}

function lastLine() {
  const length = new Int32Array(calls.state)[1];
  return length > 0 ? text(new Uint8Array(calls.line).slice(0, length)) : undefined;
}

/** The state of the main thread by Linux, and the function of the kernel in which it waits. */
function threadState() {
  try {
    const task = '/proc/self/task/' + process.pid;
    const [, state] = /\\) (\\S)/.exec(readFileSync(task + '/stat', 'utf8')) ?? [];
    const waitsIn = readFileSync(task + '/wchan', 'utf8').trim();
    return { state, waitsIn: waitsIn === '0' ? '' : waitsIn };
  } catch {
    return undefined;
  }
}

const within = (ms, promise) => Promise.race([promise, new Promise((resolve) => setTimeout(resolve, ms))]);

/** @returns The state of the main thread, and its stack if it runs JavaScript. */
async function javaScript() {
  const { Session } = require('node:inspector');
  const session = new Session();
  session.connectToMainThread();
  const scripts = new Map();
  session.on('Debugger.scriptParsed', ({ params }) => scripts.set(params.scriptId, params));
  const paused = new Promise((resolve) => session.once('Debugger.paused', ({ params }) => resolve(params.callFrames)));
  const ask = (method, params) => new Promise((resolve) => session.post(method, params, (error, result) => resolve({ error, result })));
  try {
    const enabled = ask('Debugger.enable');
    // The main thread takes both at once, and stops before its next native code.
    void ask('Debugger.pause');
    if (!(await within(ANSWER_MS, enabled))) return { state: 'native' };
    const frames = await within(PAUSE_MS, paused);
    if (frames) void ask('Debugger.resume');
    const isAnswered = await within(ANSWER_MS, ask('Debugger.disable'));
    if (frames) return { state: 'javascript', frames: frames.slice(0, MOST_FRAMES).map((frame) => frameText(frame, scripts)) };
    if (!isAnswered) return { state: 'native' };
    const expression = 'process.getActiveResourcesInfo().join()';
    const answer = await within(ANSWER_MS, ask('Runtime.evaluate', { expression, silent: true }));
    if (!answer) return { state: 'native' };
    const waitsFor = String(answer.result?.result?.value ?? '').split(',').filter(Boolean);
    return { state: 'event loop', waitsFor };
  } finally {
    session.disconnect();
  }
}

/** The place in the program's own file, by the map that a compiled script has in itself. Undefined: it has none. */
function ownPlace(sourceMapURL, line, column) {
  try {
    const [, map] = /^data:application\\/json[^,]*;base64,(.*)$/s.exec(sourceMapURL) ?? [];
    const { originalLine, originalColumn } = new SourceMap(JSON.parse(Buffer.from(map, 'base64'))).findEntry(line, column);
    return originalLine === undefined ? undefined : [originalLine, originalColumn];
  } catch {
    return undefined;
  }
}

const pathOf = (url) => (url.startsWith('file:') ? fileURLToPath(url) : url);

function frameText({ functionName, location, url }, scripts) {
  const script = scripts.get(location.scriptId);
  const file = pathOf(url || script?.url || 'unknown');
  const compiled = [location.lineNumber, location.columnNumber ?? 0];
  const [line, column] = ownPlace(script?.sourceMapURL, ...compiled) ?? compiled;
  return (functionName || '(anonymous)') + ' (' + file + ':' + (line + 1) + ':' + (column + 1) + ')';
}

async function tell() {
  const thread = threadState();
  const main = await javaScript().catch((error) => ({ state: 'unknown', reason: error.message }));
  const answer = { rank, pid: process.pid, at: Date.now(), ...counts, calls: lastCalls(), line: lastLine(), thread, main };
  writeFileSync(path + '.new', JSON.stringify(answer), { mode: 0o600 });
  renameSync(path + '.new', path);
}
tell().catch(() => undefined);
`;
