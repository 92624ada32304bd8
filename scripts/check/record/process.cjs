// Loaded into every Node.js process of recorded tests (`NODE_OPTIONS=--require`; `--import` would
// leave out worker threads that begin with a text). At its end a process writes which functions of
// our packages and tests it executed, and which process started it. A process that is killed writes
// nothing.
const childProcess = require('node:child_process');
const { createHash, randomUUID } = require('node:crypto');
const { existsSync, mkdirSync, renameSync, writeFileSync } = require('node:fs');
const { Session } = require('node:inspector');
const { syncBuiltinESMExports } = require('node:module');
const { join } = require('node:path');
const { isMainThread, MessagePort, parentPort } = require('node:worker_threads');

const FOLDER = process.env.ACC_RECORD_FOLDER;
/** Chunks of packages wherever they are installed, sources, tests, and transpiled programs. */
const OURS =
  /\/(packages\/[^/]+|node_modules\/(@acc\/[^/]+|acc-[^/]+|create-acc-tracker))\/(dist|src)\/|\/(tests|bench|examples|site)\/|\/\.cache\/acc\//;
/** Undefined in the thread of module hooks, which Node.js starts without an inspector. */
const session = connected();

function connected() {
  const session = new Session();
  try {
    session.connect();
  } catch (error) {
    if (!error.message.includes('without a V8::Inspector')) throw error;
    return undefined;
  }
  return session;
}

const post = (method, parameters) => {
  let answer;
  session.post(method, parameters, (error, result) => {
    if (error) throw new Error(`${method}: ${error.message}`);
    answer = result;
  });
  return answer;
};

/** Scripts that a loader changed: what ran is in no file. vitest leaves built packages as they are. */
const isChanged = (url) =>
  !/\.[cm]?js$/.test(url) || (globalThis.__vitest_worker__ !== undefined && !url.includes('/dist/'));

/** By the script: V8 tells of each function only once that it was executed. */
const executed = new Map();

/** Returns whether functions were executed since the last call. */
function collect() {
  const { result } = post('Profiler.takePreciseCoverage');
  const count = () => [...executed.values()].reduce((sum, { starts }) => sum + starts.size, 0);
  const before = count();
  for (const { scriptId, url, functions } of result) {
    if (!url.startsWith('file:') || !OURS.test(url)) continue;
    if (!executed.has(scriptId)) executed.set(scriptId, { url, starts: new Set() });
    const { starts } = executed.get(scriptId);
    for (const { ranges } of functions) if (ranges[0].count > 0) starts.add(ranges[0].startOffset);
  }
  return count() > before;
}

/** Writes the text of a script once for all processes, and returns its name. */
function keepText(scriptId) {
  const { scriptSource } = post('Debugger.getScriptSource', { scriptId });
  const name = `${createHash('sha1').update(scriptSource).digest('hex')}.txt`;
  const path = join(FOLDER, name);
  if (existsSync(path)) return name;
  const part = `${path}.${randomUUID()}`;
  writeFileSync(part, scriptSource);
  renameSync(part, path);
  return name;
}

function write(id, parent) {
  if ([...executed.values()].some(({ url }) => isChanged(url))) post('Debugger.enable');
  mkdirSync(FOLDER, { recursive: true });
  const scripts = [...executed].map(([scriptId, { url, starts }]) => ({
    url,
    starts: [...starts],
    ...(isChanged(url) ? { text: keepText(scriptId) } : {}),
  }));
  const record = { id, parent, testFile: globalThis.__vitest_worker__?.filepath, scripts };
  // The script that records reads the folder while processes write.
  const path = join(FOLDER, `${id}.json`);
  writeFileSync(`${path}.part`, JSON.stringify(record));
  renameSync(`${path}.part`, path);
}

/**
 * vitest asks the process of a test file to stop, and kills it half a second after its answer. A
 * listener before vitest's own would take its first messages.
 */
function beforeVitestKills(act) {
  const onMessage = (message) => {
    if (message?.type === 'stop' && message.__vitest_worker_request__) act();
  };
  const onListener = (event) => {
    if (event !== 'message') return;
    process.off('newListener', onListener);
    process.on('message', onMessage);
  };
  process.on('newListener', onListener);
}

/** A worker thread may be terminated as soon as it has posted its last result. */
function beforePosts(act) {
  const { postMessage } = MessagePort.prototype;
  MessagePort.prototype.postMessage = function (...values) {
    if (this === parentPort) act();
    return postMessage.apply(this, values);
  };
}

/** A process that answers its parent may be killed as soon as it has answered, as continuous ranks. */
function beforeAnswers(act) {
  const { send } = process;
  process.send = function (...values) {
    act();
    return send.apply(this, values);
  };
}

const HOOK = `--require=${__filename}`;

/** The environment of a new process, in which a test may have left out what recording needs. */
function recordingEnvironment(env) {
  const { NODE_OPTIONS = '' } = env;
  return {
    ...env,
    NODE_OPTIONS: NODE_OPTIONS.includes(HOOK) ? NODE_OPTIONS : `${NODE_OPTIONS} ${HOOK}`.trim(),
    ACC_RECORD_FOLDER: FOLDER,
    ACC_RECORD_PARENT: process.env.ACC_RECORD_PARENT,
  };
}

function recordNewProcesses() {
  const { ChildProcess } = childProcess;
  const { spawn } = ChildProcess.prototype;
  ChildProcess.prototype.spawn = function (options) {
    const env = Object.fromEntries(options.envPairs.map((pair) => pair.split(/=(.*)/s, 2)));
    const envPairs = Object.entries(recordingEnvironment(env)).map(([name, value]) => `${name}=${value}`);
    return spawn.call(this, { ...options, envPairs });
  };
  for (const name of ['spawnSync', 'execFileSync', 'execSync']) {
    const start = childProcess[name];
    childProcess[name] = (...values) => {
      const complete = (value) => (value?.env ? { ...value, env: recordingEnvironment(value.env) } : value);
      return start(...values.map(complete));
    };
  }
  syncBuiltinESMExports();
}

if (FOLDER !== undefined && session) {
  const id = randomUUID();
  const parent = process.env.ACC_RECORD_PARENT;
  // A worker thread may share its environment.
  if (isMainThread) process.env.ACC_RECORD_PARENT = id;
  post('Profiler.enable');
  post('Profiler.startPreciseCoverage', { callCount: false, detailed: false });
  // Those that it starts belong to a test through it, even if it is killed.
  write(id, parent);
  const atEnd = () => {
    collect();
    write(id, parent);
  };
  const between = () => {
    if (collect()) write(id, parent);
  };
  recordNewProcesses();
  process.on('exit', atEnd);
  if (process.argv[1]?.includes('/vitest/')) beforeVitestKills(atEnd);
  else if (isMainThread && process.send) beforeAnswers(between);
  if (!isMainThread) beforePosts(between);
}
