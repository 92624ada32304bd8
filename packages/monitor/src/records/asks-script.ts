/**
 * The part of the recorder's thread that looks for requests of `acc monitor`: a file that only this user
 * can have written. What is no request, is too long, or is older than this process, is passed over. A
 * window of steps is handed to the training by shared memory, and stacks are read by a thread of their own.
 */
export const ASKS = `
const asks = workerData.asks;
const window = new Int32Array(asks.window);
const [FROM, STEPS, ID] = [0, 1, 2];
const MOST_BYTES = 4096;
const MOST = 0x7fffffff;
const NO_LINK = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const uid = process.getuid?.() ?? -1;
let lastFile = '';
let lastStacks = 0;

const isInteger = (value, most) => Number.isInteger(value) && value >= 1 && value <= most;
const isSafe = (found) => uid < 0 || (found.uid === uid && (found.mode & 0o022) === 0);
const fileOf = (found) => found.ino + ' ' + found.mtimeMs + ' ' + found.size;

/** A request to an earlier process is none to this one. */
function passOverOld() {
  try {
    lastFile = fileOf(lstatSync(asks.request));
  } catch {}
}

function readRequest() {
  let file;
  try {
    file = openSync(asks.request, NO_LINK);
    const found = fstatSync(file);
    const folder = lstatSync(asks.folder);
    if (!folder.isDirectory() || !isSafe(folder)) return undefined;
    if (!found.isFile() || !isSafe(found) || found.size > MOST_BYTES) return undefined;
    const request = JSON.parse(readFileSync(file, 'utf8'));
    return isInteger(request.id, MOST) ? request : undefined;
  } catch {
    return undefined;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function lookForRequest() {
  const found = lstatSync(asks.request, { throwIfNoEntry: false });
  if (!found || fileOf(found) === lastFile) return;
  lastFile = fileOf(found);
  const request = readRequest();
  if (request?.ask === 'window') askWindow(request);
  else if (request?.ask === 'stacks') askStacks(request);
}

function askWindow({ id, fromStep, steps }) {
  if (!isInteger(fromStep, MOST) || !isInteger(steps, asks.mostSteps)) return;
  // While it is 0, the training reads no other word.
  Atomics.store(window, ID, 0);
  Atomics.store(window, FROM, fromStep);
  Atomics.store(window, STEPS, steps);
  Atomics.store(window, ID, id);
}

function askStacks({ id }) {
  // Each request starts a thread, so many at a time would take the processor from the training. It is read again.
  if (Date.now() - lastStacks < asks.stacksEveryMs) {
    lastFile = '';
    return;
  }
  lastStacks = Date.now();
  const path = asks.folder + '/' + id + '-rank-' + rank + '.json';
  const counts = { collectives: state[COLLECTIVES], isInCollective: state[DEPTH] > 0 };
  const thread = new Worker(asks.stacks, { eval: true, execArgv: [], workerData: { path, rank, counts, calls: asks.calls } });
  thread.on('error', () => undefined);
  thread.unref();
}
`;
